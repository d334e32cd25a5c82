// GET /search?q=garden+hose&size=10 answers {"results": [{"id": ..., "score": ..., "title": ...}, ...]}.
import { createServer } from 'node:http'
import { search } from './search.mjs'

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost')
  const query = url.searchParams.get('q')
  const found = url.pathname === '/search' && query !== null
  const results = found ? search(query, Number(url.searchParams.get('size') ?? 10)) : []
  response.writeHead(found ? 200 : 404, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(found ? { results } : { error: 'ask /search?q=...' }))
})

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
