// SPDX-License-Identifier: Apache-2.0

// Who sends to whom: senders on the left, receivers on the right, lines between.

import { h, panel, s, setText } from './dom.js';
import { compact, exact, label, plural } from './format.js';

const ROW = 34;
const BOX = 26;

function cut(text, width) {
  const room = Math.max(3, Math.floor(width / 7.2));
  return [...text].length > room ? `${[...text].slice(0, room - 1).join('')}…` : text;
}

export function topologyView(context) {
  const svg = s('svg', { role: 'group', 'aria-label': 'Connections' });
  const frameEl = h('div', { class: 'topology' }, svg);
  const empty = h('p', { class: 'empty body', hidden: true }, 'There is nothing to draw.');
  const legend = h('p', { class: 'legend' });
  const el = panel('Topology', 'w12', frameEl, empty, legend);
  let last;
  let drawn = '';

  const describe = (n, side, grouped) => {
    const what = grouped ? `${plural(n.count, side === 'left' ? context.words.left : context.words.right)} on ${n.label}` : `${label({ ...n, name: n.label })}, on ${n.host || 'an unknown host'}`;
    return `${what}: ${n.status}, ${n.rate === undefined ? 'unknown' : compact(n.rate)} messages a second`;
  };

  function nodeEl(n, side, i, x, width, grouped) {
    const y = 26 + i * ROW;
    const name = grouped ? n.label : n.label || n.id || n.host;
    const rate = n.rate === undefined ? '–' : `${compact(n.rate)}/s`;
    const count = grouped ? ` × ${exact(n.count)}` : '';
    const room = width - 24 - (rate.length + count.length) * 7 - 16;
    const target = grouped ? context.filtered('topology', n.host) : context.instance(n.id);
    const link = s('a', { href: target, 'data-status': n.status, 'aria-label': describe(n, side, grouped), 'data-side': side, 'data-index': i },
      s('title', {}, describe(n, side, grouped)),
      s('rect', { class: 'box', x, y, width, height: BOX, rx: 6 }),
      mark(n.status, x + 12, y + BOX / 2),
      s('text', { x: x + 24, y: y + 17 }, cut(name + count, room + count.length * 7)),
      s('text', { class: 'sub', x: x + width - 8, y: y + 17, 'text-anchor': 'end' }, rate));
    const light = on => highlight(side, i, on);
    for (const [type, on] of [['mouseenter', true], ['mouseleave', false], ['focus', true], ['blur', false]]) link.addEventListener(type, () => light(on));
    return link;
  }

  function mark(word, x, y) {
    if (word === 'losing') return s('path', { class: 'mark', d: `M${x} ${y - 5}l5 9h-10z`, stroke: 'none' });
    if (word === 'stalled' || word === 'unreachable') return s('rect', { class: 'mark', x: x - 4, y: y - 4, width: 8, height: 8 });
    return s('circle', { class: 'mark', cx: x, cy: y, r: 4 });
  }

  function highlight(side, i, on) {
    svg.classList.toggle('some', on);
    for (const path of svg.querySelectorAll('path[data-from]')) {
      path.classList.toggle('on', on && path.dataset[side === 'left' ? 'from' : 'to'] === String(i));
    }
  }

  function draw() {
    if (!last) return;
    const t = last;
    const width = Math.max(280, frameEl.clientWidth - 28);
    const box = Math.min(300, width * 0.38);
    const height = 32 + Math.max(t.left.length, t.right.length, 1) * ROW;
    const signature = JSON.stringify([width, t]);
    if (signature === drawn) return;
    drawn = signature;
    const focused = svg.contains(document.activeElement) ? { ...document.activeElement.dataset } : undefined;
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('height', height);
    const most = Math.max(1, ...t.edges.map(e => e.rate || 0));
    const y = i => 26 + i * ROW + BOX / 2;
    const paths = t.edges.map(e => s('path', {
      'data-from': e.from, 'data-to': e.to, 'data-status': e.status,
      d: `M${box} ${y(e.from)}C${width / 2} ${y(e.from)} ${width / 2} ${y(e.to)} ${width - box} ${y(e.to)}`,
      'stroke-width': 1 + 3 * Math.sqrt((e.rate || 0) / most),
    }, s('title', {}, `${plural(e.count, 'connection')}: ${e.status}, ${e.rate === undefined ? 'unknown' : compact(e.rate)} messages a second`))).reverse();
    const head = (text, x, anchor) => s('text', { class: 'column', x, y: 14, 'text-anchor': anchor }, text);
    svg.replaceChildren(
      head(t.grouped ? `${context.words.Left} by host` : context.words.Left, 0, 'start'),
      head(t.grouped ? `${context.words.Right} by host` : context.words.Right, width, 'end'),
      s('g', { 'aria-hidden': 'true' }, paths),
      ...t.left.map((n, i) => nodeEl(n, 'left', i, 0.5, box, t.grouped)),
      ...t.right.map((n, i) => nodeEl(n, 'right', i, width - box - 0.5, box, t.grouped)),
    );
    if (focused) svg.querySelector(`a[data-side="${focused.side}"][data-index="${focused.index}"]`)?.focus();
  }

  const observer = new ResizeObserver(draw);
  observer.observe(frameEl);
  return {
    el: h('div', { class: 'grid' }, el),
    update(frame) {
      if (!frame.topology) return;
      last = frame.topology;
      empty.hidden = last.left.length + last.right.length > 0;
      frameEl.hidden = !empty.hidden;
      draw();
      const out = [];
      const nodes = last.left_out_left + last.left_out_right;
      if (nodes) out.push(`${plural(nodes, last.grouped ? 'host' : 'process', last.grouped ? undefined : 'processes')} without trouble left out`);
      if (last.left_out_edges) out.push(`${plural(last.left_out_edges, 'line')} left out`);
      if (frame.totals.left_out) out.push(`${plural(frame.totals.left_out, 'connection')} in order not asked for`);
      setText(el.note, `${exact(last.edges.length)} ${last.edges.length === 1 ? 'line' : 'lines'}${out.length ? ` · ${out.join(' · ')}` : ''}${context.filter ? ` · filter: ${context.filter}` : ''}`);
      setText(legend, last.grouped ? 'There are many, so they are grouped by host. The filter shows those of one host, or of one name.' : 'Wide lines carry more. Red lines lose, red dashes stall.');
    },
    end() { observer.disconnect(); },
  };
}
