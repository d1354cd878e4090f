// SPDX-License-Identifier: Apache-2.0
// The site of the documents: the Markdown of the repository as it is, with a search. See
// scripts/docs.sh.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(import.meta.url)
const root = fileURLToPath(new URL('../../..', import.meta.url))

// All else is not ours, or no document.
const documents = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'docs', 'examples', 'bench']

// Anchors are those of GitHub, to which links_test.go holds all links.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')

const page = (text, name) => ({ text, link: `/docs/${name}` })
const decisions = readdirSync(`${root}docs/adr`).filter((name) => name.endsWith('.md')).sort().map((name) => {
  const title = readFileSync(`${root}docs/adr/${name}`, 'utf8').match(/^# (.*)$/m)[1]
  return page(title, `adr/${name.slice(0, -'.md'.length)}`)
})

export default {
  title: 'tagbus',
  description: 'A message bus for detector readout',
  srcDir: root,
  srcExclude: readdirSync(root).filter((name) => !documents.includes(name)).map((name) => `${name}/**`),
  outDir: process.env.SITE ?? `${root}build/site`,
  cacheDir: `${root}tools/docs/node_modules/.cache`,
  rewrites: { 'README.md': 'index.md' },
  ignoreDeadLinks: false,
  metaChunk: true,
  buildConcurrency: 1, // the search index has the pages in the order in which they are read
  markdown: {
    html: false,
    attrs: { disable: true },
    anchor: { slugify },
    languages: [{ name: 'hex', scopeName: 'source.hex', patterns: [] }], // docs/protocol.md
    config(md) {
      // What stands in braces is text: Vue takes no part of a page.
      for (const kind of ['text', 'code_inline', 'code_block']) {
        const rule = md.renderer.rules[kind]
        md.renderer.rules[kind] = (...args) => rule(...args).replaceAll('{{', '&#123;&#123;')
      }
      // The start page is the README.
      md.core.ruler.push('start', (state) => {
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          if (token.type === 'link_open' && token.attrGet('href') === '../README.md') token.attrSet('href', '/')
        }
      })
    },
  },
  // The pages lie outside of the folder with the modules, where they are looked for.
  vite: {
    plugins: [{
      name: 'modules-of-pages',
      enforce: 'pre',
      resolveId(id, importer, options) {
        if (id.startsWith('vue') && importer?.endsWith('.md')) return this.resolve(id, here, { ...options, skipSelf: true })
      },
    }],
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      { text: 'To begin with', items: [
        { text: 'tagbus', link: '/' },
        page('A tour for the first day', 'tour'), page('Guarantees', 'guarantees'), page('Architecture', 'architecture'),
      ] },
      { text: 'To run a bus', items: [
        page('The directory', 'directory'), page('Reference', 'reference'), page('Runbook', 'runbook'),
        page('Security', 'security'), page('Scaling', 'scaling'), page('RDMA', 'rdma'), page('Python', 'python'),
      ] },
      { text: 'To look up', items: [
        { text: 'Examples', link: '/examples/README' },
        page('Protocol', 'protocol'), page('Benchmarks', 'benchmarks'), page('Releases and packages', 'release'),
        page('Glossary', 'glossary'), page('Coverage of netio3', 'netio3-coverage'),
        { text: 'Contributing', link: '/CONTRIBUTING' }, { text: 'Changelog', link: '/CHANGELOG' },
      ] },
      { text: 'Decisions', collapsed: true, items: decisions },
    ],
  },
}
