"""The entry point that pytest loads in every project that has the plugin installed."""
