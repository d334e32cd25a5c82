"""A small search, in place of one that loads a model."""

from __future__ import annotations

PRODUCTS = {
    "sku-101": "Mesh office chair with headrest",
    "sku-102": "Leather office chair",
    "sku-107": "Chair mat for hard floors",
    "sku-111": "Standing desk, electric, oak",
    "sku-112": "Corner desk with drawers",
    "sku-203": "Desk lamp in brushed steel",
    "sku-204": "Floor lamp for reading",
    "sku-406": "Garden hose, 30 m",
    "sku-407": "Hose reel for the wall",
    "sku-501": "Chef's knife, 20 cm",
    "sku-503": "Bread knife, serrated",
    "sku-601": "Tent for two persons",
}


class ShopSearch:
    """Ranks products by the words that they share with a query."""

    def __init__(self) -> None:
        self.words = {sku: set(_split(title)) for sku, title in PRODUCTS.items()}

    def search(self, query: str, k: int) -> list[dict[str, object]]:
        """Return up to ``k`` products, best first."""
        wanted = set(_split(query))
        scores = {sku: len(wanted & words) / len(words) for sku, words in self.words.items()}
        ranked = sorted(PRODUCTS, key=lambda sku: (-scores[sku], sku))
        return [
            {"id": sku, "title": PRODUCTS[sku], "score": scores[sku]}
            for sku in ranked[:k]
            if scores[sku]
        ]


def _split(text: str) -> list[str]:
    return text.lower().replace(",", " ").split()
