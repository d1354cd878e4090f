// SPDX-License-Identifier: Apache-2.0

// How elements are made. Text is always a text node: what peers say is never parsed.

const SVG = 'http://www.w3.org/2000/svg';

function fill(el, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) el.append(child);
  }
  return el;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

export function setAttribute(el, name, value) {
  if (value === undefined || value === null || value === '') el.removeAttribute(name);
  else if (el.getAttribute(name) !== String(value)) el.setAttribute(name, value);
}

// bar shows a share of 0 to 1; its figure stands beside it.
export function bar(share, tone) {
  const inner = h('span');
  const el = h('span', { class: 'bar', 'aria-hidden': 'true' }, inner);
  setBar(el, share, tone);
  return el;
}

export function setBar(el, share, tone) {
  const width = `${Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10}%`;
  if (el.firstChild.style.width !== width) el.firstChild.style.width = width;
  setAttribute(el, 'data-tone', tone);
}

// queueTone is that of a queue with a share of its limit.
export const queueTone = share => (share >= 0.9 ? 'bad' : share >= 0.6 ? 'warn' : '');

export const status = word => h('span', { class: 'status', 'data-status': word }, word);

// panel is a section with a heading.
let panels = 0;
export function panel(title, classes, ...body) {
  const id = `panel-${++panels}`;
  const note = h('span', { class: 'note' });
  const now = h('span', { class: 'now' });
  const el = h('section', { class: `panel ${classes || ''}`, 'aria-labelledby': id },
    h('header', {}, h('h2', { id }, title), note, now), body);
  return Object.assign(el, { note, now });
}

// list keeps a list of items: make makes an item once, update fills it in.
export function list(make, update, none) {
  const el = h('ul', { class: 'list' });
  const empty = h('p', { class: 'empty' }, none);
  const items = [];
  return {
    nodes: [el, empty],
    show(rows) {
      while (items.length < rows.length) {
        const item = make();
        items.push(item);
        el.append(item.el);
      }
      while (items.length > rows.length) items.pop().el.remove();
      rows.forEach((row, i) => update(items[i], row));
      el.hidden = rows.length === 0;
      empty.hidden = rows.length > 0;
    },
  };
}
