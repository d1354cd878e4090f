// SPDX-License-Identifier: Apache-2.0

// The page: which view is shown, what the stream is asked for, totals, keys.
// The address after # says it all: #/tags?filter=0x10&sort=rate&order=desc.

import { h, s, setAttribute, setText } from './dom.js';
import { bytesParts, clock, compact, compactParts, exact, plural } from './format.js';
import { recolour } from './charts.js';
import { Stream } from './stream.js';
import { overview } from './overview.js';
import { tableView } from './tables.js';
import { instanceView, tagView } from './pages.js';
import { topologyView } from './topology.js';

const by = id => document.getElementById(id);
const main = by('main');
const filter = by('filter');

// paths are the views by their word in the address.
const paths = { overview: 'overview', publishers: 'processes', subscribers: 'peers', tags: 'tags', losses: 'losses', topology: 'topology', instance: 'instance', tag: 'tag' };
const filtered = ['processes', 'peers', 'tags', 'losses', 'topology'];

const busWords = { processes: 'Publishers', peers: 'Subscribers', left: 'publisher', right: 'subscriber', Left: 'Publishers', Right: 'Subscribers' };

function wordsOf(scope) {
  if (scope.of === 'bus') return busWords;
  const listens = scope.role === 'publisher' || scope.role === 'receiver';
  const sends = scope.role === 'publisher' || scope.role === 'sender';
  const other = { publisher: 'Subscribers', subscriber: 'Publishers', sender: 'Receivers', receiver: 'Senders' }[scope.role] || 'Peers';
  const own = `${(scope.role || 'process').replace(/^./, c => c.toUpperCase())}s`;
  const [Left, Right] = sends ? [own, other] : [other, own];
  return { processes: own, peers: other, Left, Right, left: Left.slice(0, -1).toLowerCase(), right: Right.slice(0, -1).toLowerCase(), listens };
}

const link = (path, query) => {
  const text = new URLSearchParams(Object.entries(query || {}).filter(([, v]) => v)).toString();
  return `#/${path}${text ? `?${text}` : ''}`;
};

// context is what the views know of the page.
const context = {
  scope: { of: 'bus', name: '' },
  words: busWords,
  time: Date.now(),
  filter: '',
  instance: id => `#/instance/${encodeURIComponent(id)}`,
  tag: tag => `#/tag/${encodeURIComponent(tag)}`,
  filtered: (path, text) => link(path, { filter: text }),
  sortBy(key) {
    const same = route.sort === key;
    const first = ['name', 'host', 'role', 'tag', 'by', 'from', 'to', 'cause', 'policy'].includes(key) ? 'asc' : 'desc';
    go({ sort: key, order: same ? (route.order === 'desc' ? 'asc' : 'desc') : first });
  },
  askRows: () => ask(80),
};

let route = {};
let view;
let known = false; // the scope

const stream = new Stream(frame, state => {
  setAttribute(by('link'), 'data-state', state);
  if (state !== 'live') setText(by('link-text'), { lost: 'no connection', paused: 'paused' }[state] || 'connecting');
});
context.stream = stream;

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [first, ...rest] = path.split('/');
  const values = new URLSearchParams(query || '');
  let id = rest.join('/');
  try { id = decodeURIComponent(id); } catch { /* as it is */ }
  const name = paths[first] || 'overview';
  return { path: paths[first] ? first : 'overview', view: name, id, filter: values.get('filter') || '', sort: values.get('sort') || '', order: values.get('order') || '' };
}

function go(change, replace) {
  const next = { ...route, ...change };
  const to = link(next.id ? `${next.path}/${encodeURIComponent(next.id)}` : next.path, { filter: next.filter, sort: next.sort, order: next.sort && next.order });
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  navigate();
}

const make = {
  overview, instance: instanceView, tag: tagView, topology: topologyView,
  processes: c => tableView('processes', c), peers: c => tableView('peers', c), tags: c => tableView('tags', c), losses: c => tableView('losses', c),
};

function navigate() {
  const before = route;
  route = parse();
  context.filter = route.filter;
  if (before.view !== route.view || before.id !== route.id || !view) {
    if (view && view.end) view.end();
    view = make[route.view](context);
    main.replaceChildren(view.el);
    if (before.view) {
      scrollTo(0, 0);
      if (document.activeElement !== filter) main.focus({ preventScroll: true });
    }
  } else if (view.top) view.top();
  if (view.sorted) view.sorted(route.sort, route.order === 'desc');
  if (document.activeElement !== filter) filter.value = route.filter;
  marks();
  ask(0);
}

// ask opens the stream for what is shown now.
function ask(delay) {
  const query = { view: route.view };
  if (route.view === 'instance') query.id = route.id;
  if (route.view === 'tag') query.tag = route.id;
  if (filtered.includes(route.view)) Object.assign(query, { filter: route.filter, sort: route.sort, order: route.order });
  if (view.range) Object.assign(query, view.range());
  stream.open(query, delay);
}

function marks() {
  const items = context.scope.of === 'bus' || !known
    ? [['overview', 'Overview'], ['publishers', 'Publishers'], ['subscribers', 'Subscribers'], ['tags', 'Tags'], ['losses', 'Losses'], ['topology', 'Topology']]
    : [['overview', 'Overview'], [`instance/${encodeURIComponent(context.scope.instance)}`, `This ${context.scope.role}`], ['subscribers', context.words.peers], ['tags', 'Tags'], ['losses', 'Losses']];
  const signature = JSON.stringify(items);
  const nav = by('views');
  if (nav.dataset.items !== signature) {
    nav.dataset.items = signature;
    nav.replaceChildren(...items.map(([path, title]) => h('li', {}, h('a', { href: `#/${path}` }, title))));
  }
  for (const a of nav.querySelectorAll('a')) {
    const own = a.getAttribute('href').slice(2).split('/')[0];
    setAttribute(a, 'aria-current', own === route.path ? 'page' : '');
  }
  const title = nav.querySelector('[aria-current]')?.textContent || (route.id ? route.id : '');
  document.title = `${title ? `${title} · ` : ''}tagbus${context.scope.name ? ` · ${context.scope.name}` : ''}`;
}

// frame shows a frame of the stream.
function frame(f) {
  if (!known || f.scope.instance !== context.scope.instance) {
    known = true;
    tiles = undefined;
    context.scope = f.scope;
    context.words = wordsOf(f.scope);
    setText(by('scope'), f.scope.name);
    by('scope').title = f.scope.name;
    if (f.scope.of !== 'bus') {
      if (view.end) view.end();
      view = undefined;
      navigate();
      return;
    }
    marks();

  }
  context.time = f.time;
  setText(by('link-text'), clock(f.time).slice(-8));
  by('problem').hidden = !f.problem;
  setText(by('problem'), f.problem ? `Directory: ${f.problem}` : '');
  totals(f.totals);
  if (f.view === route.view) view.update(f);
}

const tile = (key, what, href) => {
  const value = h('span', { class: 'value' });
  const note = h('span', { class: 'note' });
  const el = h(href ? 'a' : 'div', { class: 'total', href, 'data-total': key }, h('span', { class: 'what' }, what), value, note);
  return { el, value, note };
};

let tiles;
function totals(t) {
  const bus = context.scope.of === 'bus';
  if (!tiles) {
    const worst = { sort: 'status', order: 'desc' };
    tiles = {
      ...(bus ? { processes: tile('processes', 'Publishers', link('publishers')) } : {}),
      peers: tile('peers', context.words.peers, link('subscribers')),
      rate: tile('rate', 'Messages'), bytes: tile('bytes', 'Payload'),
      stalled: tile('stalled', 'Stalled', link('subscribers', worst)), losing: tile('losing', 'Losing now', link(bus ? 'publishers' : 'subscribers', worst)),
      lost: tile('lost', 'Lost', link('losses')),
      ...(bus ? { unreachable: tile('unreachable', 'Unreachable', link('publishers', worst)) } : {}),
    };
    by('totals').replaceChildren(...Object.values(tiles).map(x => x.el));
  }
  const set = (key, parts, note, tone) => {
    const x = tiles[key];
    if (!x) return;
    const [number, unit] = parts;
    setText(x.value, ''.concat(number));
    if (unit) x.value.append(h('span', { class: 'unit' }, ` ${unit}`));
    setText(x.note, note || '');
    setAttribute(x.el, 'data-tone', tone);
  };
  set('processes', [exact(t.processes)], t.receivers ? `with ${plural(t.receivers, 'receiver')}` : '');
  set('peers', [exact(t.peers)], plural(t.connections, 'connection'));
  const [rate, scale] = compactParts(t.rate);
  set('rate', t.rate === undefined ? ['–'] : [rate, `${scale}/s`], `${compact(t.messages)} in all`);
  const [payload, unit] = bytesParts(t.bytes);
  set('bytes', t.bytes === undefined ? ['–'] : [payload, `${unit}/s`], `${plural(t.tags, 'tag')}`);
  set('stalled', [exact(t.stalled)], t.stalled ? (t.stalled === 1 ? 'takes nothing' : 'take nothing') : 'all take what is sent', t.stalled ? 'bad' : '');
  set('losing', [exact(t.losing)], t.loss_rate ? `${compact(t.loss_rate)} messages/s` : t.losing ? 'lost some a moment ago' : 'nothing is lost now', t.losing ? 'bad' : '');
  set('lost', [t.lost < 1e6 ? exact(t.lost) : compact(t.lost)], t.unreachable ? 'messages, of those that answer' : 'messages in all');
  set('unreachable', [exact(t.unreachable)], t.unreachable ? 'did not answer' : t.problems ? `${plural(t.problems, 'other problem')}: see the overview` : 'all answer', t.unreachable || t.problems ? 'warn' : '');
  announce(t);
}

// announce says changes of what matters to those who listen, not more often than they can.
let said = '';
let saidAt = 0;
function announce(t) {
  const text = [`${exact(t.stalled)} stalled`, `${exact(t.losing)} losing`, ...(context.scope.of === 'bus' ? [`${exact(t.unreachable)} unreachable`] : [])].join(', ');
  if (text === said || Date.now() - saidAt < 10000) return;
  said = text;
  saidAt = Date.now();
  setText(by('summary'), text);
}

// themes are light, dark, and that of the system.
const signs = {
  '': [s('circle', { cx: 8, cy: 8, r: 6 }), s('path', { d: 'M8 2a6 6 0 0 1 0 12z', fill: 'currentColor' })],
  light: [s('circle', { cx: 8, cy: 8, r: 3 }), s('path', { d: 'M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1' })],
  dark: [s('path', { d: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z' })],
};

function theme(next) {
  const root = document.documentElement;
  if (next === undefined) next = root.dataset.theme || '';
  else {
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    try { localStorage.setItem('theme', next); } catch { /* for this page only */ }
  }
  const button = by('theme');
  const name = `Theme: ${next || 'that of the system'}`;
  button.replaceChildren(s('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, signs[next]));
  setAttribute(button, 'aria-label', name);
  setAttribute(button, 'title', name);
  recolour();
}

by('theme').addEventListener('click', () => {
  const now = document.documentElement.dataset.theme || '';
  theme({ '': 'light', light: 'dark', dark: '' }[now]);
});

by('skip').addEventListener('click', event => {
  event.preventDefault();
  main.focus();
});

let typing;
filter.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => go({ filter: filter.value.trim(), ...(filtered.includes(route.view) ? {} : { path: 'publishers', id: '', sort: '', order: '' }) }, true), 150);
});

addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/' && !event.target.matches('input')) {
    event.preventDefault();
    filter.focus();
    filter.select();
  } else if (event.key === 'Escape' && event.target === filter) {
    filter.value = '';
    go({ filter: '' }, true);
    main.querySelector('a[tabindex="0"], a')?.focus();
  }
});

addEventListener('hashchange', navigate);

theme();
navigate();
