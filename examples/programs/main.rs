// Reads one query per line as JSON, and writes one answer per line. search::search is your own.
mod search;

use std::io::{self, BufRead, Write};

use serde_json::{json, Value};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let query = request["query"].as_str().unwrap_or_default();
        let hits = search::search(query, request["k"].as_u64().unwrap_or(10) as usize);
        println!("{}", json!({"id": request["id"], "hits": hits}));
        io::stdout().flush()?;
    }
    Ok(())
}
