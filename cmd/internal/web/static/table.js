// SPDX-License-Identifier: Apache-2.0

// A table of which only the visible rows exist. Rows that are not there are room above and
// below. Arrow keys move between rows, over all of them.

import { h, setAttribute, setBar, setText, bar } from './dom.js';
import { exact } from './format.js';

const MORE = 6; // rows beyond what is seen

// A column is {key, title, num, prio, hint, cell}: cell makes of a row a text or
// {text, href, bar, tone, status, title, bad}. Without a key it cannot be sorted by.
export class Table {
  constructor({ label, columns, identify, ask, sortBy, none }) {
    Object.assign(this, { columns, identify, ask, sortBy, none });
    this.rows = new Map(); // by index: what is known
    this.shown = new Map(); // by index: its element
    this.total = 0;
    this.heads = columns.map(c => this.head(c));
    this.above = h('tr', { class: 'gap', 'aria-hidden': 'true' }, h('td', { colspan: columns.length }));
    this.below = h('tr', { class: 'gap', 'aria-hidden': 'true' }, h('td', { colspan: columns.length }));
    this.body = h('tbody', {}, this.above, this.below);
    this.table = h('table', { 'aria-label': label }, h('thead', {}, h('tr', { 'aria-rowindex': 1 }, this.heads)), this.body);
    this.empty = h('p', { class: 'empty body', hidden: true }, none);
    this.el = h('div', { class: 'scroll', onscroll: () => this.scrolled(), onkeydown: e => this.key(e) }, this.table);
    this.at = 0; // row that has, or would have, the focus
  }

  head(c) {
    const classes = [c.num ? 'num' : '', c.prio ? `prio${c.prio}` : ''].join(' ').trim();
    const content = c.key && this.sortBy ? h('button', { type: 'button', onclick: () => this.sortBy(c.key), title: c.hint }, c.title) : c.title;
    return h('th', { scope: 'col', class: classes || undefined, title: c.key ? undefined : c.hint, 'aria-sort': c.key && this.sortBy ? 'none' : undefined }, content);
  }

  sorted(key, descending) {
    this.heads.forEach((th, i) => {
      const own = this.columns[i].key;
      if (own && this.sortBy) setAttribute(th, 'aria-sort', own !== key ? 'none' : descending ? 'descending' : 'ascending');
    });
  }

  height() { return parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 32; }

  // range is what can be seen, and a little more.
  range() {
    const row = this.height();
    const offset = Math.max(0, Math.floor(this.el.scrollTop / row) - MORE);
    const seen = Math.ceil(innerHeight / row) + 2 * MORE; // as the style sheet has it, no table is higher
    return { offset, rows: Math.min(100, seen) };
  }

  scrolled() {
    this.render();
    const { offset, rows } = this.range();
    const last = Math.min(this.total, offset + rows);
    for (let i = offset; i < last; i++) {
      if (!this.rows.has(i)) return this.ask(offset, rows);
    }
    // Rows that are known but out of the server's sight grow old.
    if (this.asked !== offset) this.ask(offset, rows);
  }

  // update takes part of a table, as a frame has it.
  update({ rows, offset, matched }) {
    const focused = this.el.contains(document.activeElement) && document.activeElement.closest('tbody tr');
    const key = focused ? focused.dataset.key : undefined;
    this.asked = offset;
    this.total = matched;
    this.rows = new Map(rows.map((row, i) => [offset + i, row]));
    this.empty.hidden = matched > 0;
    setAttribute(this.table, 'aria-rowcount', matched + 1);
    if (key !== undefined) {
      const i = rows.findIndex(row => this.identify(row) === key);
      if (i >= 0) this.at = offset + i; // the focus stays on the process, wherever its row is now
    }
    this.at = Math.max(0, Math.min(this.at, matched - 1));
    this.render();
    if (key !== undefined && document.activeElement?.closest('tbody tr')?.dataset.key !== key) this.focus();
  }

  render() {
    const { offset, rows } = this.range();
    const indexes = [...this.rows.keys()].filter(i => i >= offset - MORE && i < offset + rows + MORE);
    const first = indexes.length ? indexes[0] : 0;
    const gone = [...this.shown.keys()].filter(i => i < first || i >= first + indexes.length);
    const spare = gone.map(i => {
      const el = this.shown.get(i);
      this.shown.delete(i);
      return el;
    });
    let before = this.above;
    for (const i of indexes) {
      let el = this.shown.get(i) || spare.pop();
      if (!el) el = this.makeRow();
      this.shown.set(i, el);
      if (before.nextSibling !== el) before.after(el);
      this.fillRow(el, this.rows.get(i), i);
      before = el;
    }
    for (const el of spare) el.remove();
    const row = this.height();
    this.gap(this.above, first * row);
    this.gap(this.below, Math.max(0, this.total - first - indexes.length) * row);
  }

  gap(el, height) {
    el.hidden = height === 0;
    el.firstChild.style.height = `${height}px`;
  }

  makeRow() {
    return h('tr', {}, this.columns.map((c, i) => {
      const classes = [c.num ? 'num' : '', c.prio ? `prio${c.prio}` : ''].join(' ').trim();
      return h(i === 0 ? 'th' : 'td', i === 0 ? { scope: 'row', class: 'first' } : { class: classes || undefined });
    }));
  }

  fillRow(el, row, index) {
    el.dataset.key = this.identify(row);
    setAttribute(el, 'data-status', row.now ? 'losing' : row.status);
    setAttribute(el, 'aria-rowindex', index + 2);
    this.columns.forEach((c, i) => this.fillCell(el.children[i], c.cell(row), i === 0 ? index : undefined));
  }

  fillCell(td, value, index) {
    const v = typeof value === 'object' && value !== null ? value : { text: String(value ?? '') };
    const kind = v.href ? 'link' : v.bar !== undefined ? 'bar' : v.status ? 'status' : 'text';
    if (td.kind !== kind) {
      td.kind = kind;
      td.replaceChildren(...{
        link: () => [h('a', {})],
        bar: () => [bar(0), document.createTextNode('')],
        status: () => [h('span', { class: 'status' })],
        text: () => [document.createTextNode('')],
      }[kind]());
    }
    const [one, two] = td.childNodes;
    if (kind === 'bar') {
      setBar(one, v.bar, v.tone);
      if (two.data !== v.text) two.data = v.text;
    } else {
      if (kind === 'status') setAttribute(one, 'data-status', v.status);
      if (kind === 'link') {
        setAttribute(one, 'href', v.href);
        if (index !== undefined) setAttribute(one, 'tabindex', index === this.at ? 0 : -1);
      }
      if (kind === 'text') {
        if (one.data !== v.text) one.data = v.text;
      } else setText(one, v.text);
    }
    setAttribute(td, 'title', v.title);
    td.classList.toggle('bad', !!v.bad);
    td.classList.toggle('dim', !!v.dim);
  }

  key(event) {
    if (!event.target.closest('tbody')) return;
    const page = Math.max(1, Math.floor(this.el.clientHeight / this.height()) - 2);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.at = Math.max(0, Math.min(this.total - 1, this.at + step));
    const row = this.height();
    const top = this.at * row;
    const room = this.el.clientHeight - 30 - row; // below the head
    if (top < this.el.scrollTop) this.el.scrollTop = top;
    else if (top > this.el.scrollTop + room) this.el.scrollTop = top - room;
    this.wanted = true;
    this.render();
    this.focus();
  }

  // focus goes to the row where it should be, as soon as that row is there.
  focus() {
    const el = this.shown.get(this.at);
    const link = el && el.querySelector('a');
    if (link) link.focus({ preventScroll: true });
  }

  summary(one, many) { return `${exact(this.total)} ${this.total === 1 ? one : many}`; }
}
