// SPDX-License-Identifier: Apache-2.0

// A page for a process, and for a tag.

import { h, panel, setAttribute, setText } from './dom.js';
import { Chart } from './charts.js';
import { bytes, causes, clock, compact, exact, label, plural, span } from './format.js';
import { peerColumns, smallTable, tagColumns } from './tables.js';

// A recorder keeps the rates of what a page shows, for as long as it is shown.
function recorder(titles) {
  const times = [];
  const charts = titles.map(([title, tone, format]) => {
    const chart = new Chart({ tone, format, height: 120, describe: (last, high) => `${title} since this page is open: now ${last}, highest ${high}` });
    return { chart, values: [], format, el: panel(title, 'w6', chart.el) };
  });
  return {
    nodes: charts.map(c => c.el),
    add(ms, values) {
      if (times.length && ms / 1000 === times[times.length - 1]) return;
      if (times.length && ms / 1000 < times[times.length - 1]) { // the clock was set back
        times.length = 0;
        for (const c of charts) c.values.length = 0;
      }
      times.push(ms / 1000);
      times.splice(0, times.length - 600);
      charts.forEach((c, i) => {
        c.values.push(values[i]);
        c.values.splice(0, c.values.length - 600);
        c.chart.show(times, c.values);
        setText(c.el.now, values[i] === null ? '–' : c.format(values[i]));
      });
    },
    end() { charts.forEach(c => c.chart.end()); },
  };
}

// facts keeps a list of terms and what they are.
function facts() {
  const el = h('dl', { class: 'facts' });
  const shown = new Map();
  return {
    el,
    show(rows) {
      for (const [term, value] of rows) {
        if (value === undefined || value === null || value === '') continue;
        let dd = shown.get(term);
        if (!dd) {
          dd = h('dd', {});
          shown.set(term, dd);
          el.append(h('div', {}, h('dt', {}, term), dd));
        }
        setText(dd, String(value));
      }
    },
  };
}

function heading() {
  const title = h('h2', { class: 'page', id: 'page-title' });
  const word = h('span', { class: 'status' });
  const note = h('span', { class: 'note' });
  const list = facts();
  const el = h('section', { class: 'panel w12', 'aria-labelledby': 'page-title' }, h('header', {}, title, word, note));
  return { el, title, word, note, list, facts: panel('Details', 'w12', list.el) };
}

function factsOf(d, time) {
  const { process: p, peer, state: s } = d;
  const own = p || peer;
  const rows = [['Instance', own.id], ['Host', own.host], ['Process id', own.pid || '']];
  if (p) rows.push(['Up', p.since ? `${span(time - p.since)}, since ${clock(p.since)}` : '']);
  if (!s) {
    const told = text => (own.status === 'unreachable' ? 'not known: it did not answer' : text);
    rows.push(['Address', p?.address], ['Lost', told(exact(own.lost) + (own.causes ? ` (${causes(own.causes)})` : ''))], ['Left out on purpose', told(exact(own.left_out || 0))],
      ['Via', (own.via || []).join(', ')], ['Better, not used', (own.unused || []).join('; ') || 'none'],
      ['Policies', (own.policies || []).join(', ')], ['Connections', own.of]);
    return rows;
  }
  rows.push(
    ['Addresses', (s.addresses || []).join(', ')], ['Other ways', (s.ways || []).join(', ')], ['Monitor', s.monitor], ['Backend', s.backend],
    ['Better, not used', (s.unused || []).map(u => `${u.backend}, by ${plural(u.of, 'connection')}: ${u.reason}`).join('; ') || 'none'], ['Version', `tagbus ${s.program}, ${s.go}`],
    ['Tags', s.tags], ['Known tags', exact(s.known_tags)], ['Messages', exact(s.messages)], ['Payload', bytes(s.payload_bytes)],
    ['Largest message', bytes(s.max_message_bytes)], ['Page', s.page_bytes ? bytes(s.page_bytes) : ''],
    ['Lost', exact(p.lost) + (d.causes ? ` (${causes(d.causes)})` : '')], ['Left out on purpose', exact(s.left_out_messages)],
    ['Broken connections', exact(s.broken_connections)], ['Silent peers', exact(s.silent_peers)],
    ['Entry in the directory', s.entry_failing ? 'cannot be renewed now' : 'renewed'],
  );
  if (s.sending) {
    const o = s.sending;
    rows.push(['Streams', exact(o.streams)], ['Pool', `${exact(o.pool_free_pages)} of ${exact(o.pool_pages)} pages free, least of late ${exact(o.pool_min_free_pages)}`],
      ['Cache', `${plural(o.cached_messages, 'message')}, ${bytes(o.cached_bytes)} of ${bytes(o.cache_limit_bytes)}`],
      ['Queue limit', bytes(o.queue_limit_bytes)], ['Refusals', exact(o.refusals)], ['Unconfirmed', exact(o.unconfirmed_messages)],
      ['Replayed', exact(o.replayed_messages)], ['Stalls ended', exact(o.ended_stalls)], ['Strangers', exact(o.strangers)]);
  }
  if (s.receiving) {
    const o = s.receiving;
    rows.push(['Pages', exact(o.pages)], ['Overflowed', exact(o.overflowed_messages)], ['Unwanted', exact(o.unwanted_messages)],
      ['Panics', exact(o.panics)], ['Retained', `${plural(o.retained_messages, 'message')}, ${bytes(o.retained_bytes)}`], ['Refused to retain', exact(o.retain_refusals)]);
  }
  return rows;
}

export function instanceView(context) {
  const head = heading();
  const rates = recorder([['Messages per second', '--accent', compact], ['Bytes per second', '--teal', bytes]]);
  const peers = smallTable('Connections', peerColumns(context, ''), x => x.id, 'It has no connections.');
  const gone = smallTable('Gone', peerColumns(context, '').filter(c => ['name', 'role', 'host', 'lost'].includes(c.key)), x => x.id, '');
  const busiest = smallTable('Busiest tags', tagColumns(context).filter(c => !['by', 'of'].includes(c.key)), x => x.tag, 'No tag had a message.');
  const panels = {
    peers: panel('Connections', 'w12', peers.nodes), tags: panel('Busiest tags', 'w6', busiest.nodes), gone: panel('Gone', 'w6', gone.nodes),
  };
  panels.gone.hidden = panels.tags.hidden = true;
  const body = h('div', { class: 'grid w12' }, rates.nodes, panels.peers, panels.tags, panels.gone, head.facts);
  setText(head.title, 'Asking …');
  return {
    el: h('div', { class: 'grid' }, head.el, body),
    update(frame) {
      const d = frame.detail;
      body.hidden = !d || !(d.process || d.peer);
      if (!d) return;
      const own = d.process || d.peer;
      if (!own) {
        setText(head.title, 'There is no such process');
        setText(head.note, 'It has gone, or no publisher names it among its worst subscribers.');
        return;
      }
      setText(head.title, label(own));
      setText(head.word, own.status);
      setAttribute(head.word, 'data-status', own.status);
      setText(head.note, own.error || `${own.role}${d.process ? '' : ', as its peers know it'}`);
      head.list.show(factsOf(d, frame.time));
      rates.add(frame.time, [own.rate ?? null, own.bytes ?? null]);
      peers.show(d.peers || []);
      setText(panels.peers.note, exact(d.peers?.length || 0) + (d.left_out ? ` of ${exact(d.left_out + d.peers.length)}: the worst` : ''));
      panels.tags.hidden = !d.tags;
      busiest.show(d.tags || []);
      setText(panels.tags.note, d.state && d.tags && d.state.known_tags > d.tags.length ? `${d.tags.length} of ${exact(d.state.known_tags)}` : '');
      panels.gone.hidden = !d.gone;
      gone.show(d.gone || []);
    },
    end() { rates.end(); },
  };
}

export function tagView(context) {
  const head = heading();
  const rates = recorder([['Messages per second', '--accent', compact], ['Payload per second', '--teal', bytes]]);
  const columns = [
    { title: 'Served by', cell: x => ({ text: label(x), href: context.instance(x.id), title: x.id }) },
    { title: 'State', cell: x => ({ text: x.status, status: x.status }) },
    { title: 'Role', prio: 3, cell: x => x.role },
    { title: 'Host', prio: 2, cell: x => x.host },
    { title: 'Subs', num: true, cell: x => exact(x.peers) },
    { title: 'Messages', num: true, cell: x => exact(x.count) },
    { title: 'msg/s', num: true, cell: x => (x.rate === undefined ? '–' : compact(x.rate)) },
    { title: 'Payload/s', num: true, prio: 2, cell: x => (x.bytes === undefined ? '–' : bytes(x.bytes)) },
    { title: 'Last', num: true, prio: 2, cell: x => clock(x.last) },
    { title: 'Lost', num: true, prio: 3, cell: x => causes(x.causes) || '0' },
  ];
  const servers = smallTable('Processes that serve this tag', columns, x => x.id, 'No process announces this tag, or has had a message of it.');
  const table = panel('Who serves it', 'w12', servers.nodes);
  setText(head.title, 'Asking …');
  return {
    el: h('div', { class: 'grid' }, head.el, rates.nodes, table, head.facts),
    update(frame) {
      const t = frame.tag;
      if (!t) return;
      const sum = t.sum || { count: 0, peers: 0, of: 0 };
      setText(head.title, t.tag);
      const senders = t.servers.filter(x => x.role !== 'receiver').length;
      setText(head.note, senders > 1 ? `${plural(senders, 'publisher')} serve it` : '');
      head.list.show([['Fields', t.fields], ['Messages', exact(sum.count)], ['Last', clock(sum.last)],
        ['Subscribers', plural(sum.peers, 'queue')], ['Served by', plural(t.servers.length + t.left_out, 'process', 'processes')]]);
      if (sum.rate !== undefined) rates.add(frame.time, [sum.rate, sum.bytes || 0]);
      servers.show(t.servers);
      setText(table.note, exact(t.servers.length) + (t.left_out ? ` of ${exact(t.servers.length + t.left_out)}` : ''));
    },
    end() { rates.end(); },
  };
}
