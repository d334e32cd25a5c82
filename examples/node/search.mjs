// The search of the shop: MiniSearch over the catalog, with a weight for each field.
import { readFileSync } from 'node:fs'
import MiniSearch from 'minisearch'

const products = JSON.parse(readFileSync(new URL('products.json', import.meta.url)))

const index = new MiniSearch({
  fields: ['title', 'category', 'text'],
  storeFields: ['title', 'category'],
})
index.addAll(products)

const options = {
  boost: { title: 4, category: 2 },
  prefix: true,
  fuzzy: 0.2,
}

export function search(query, size = 10) {
  return index.search(query, options).slice(0, size)
}
