// SPDX-License-Identifier: Apache-2.0

// The views that are one table: publishers, subscribers, tags, losses.

import { h, panel, queueTone, setText } from './dom.js';
import { Table } from './table.js';
import { bytes, causes, clock, compact, exact, label, percent, plural, span, trip } from './format.js';

const zero = (n, write) => (n ? write(n) : { text: n === undefined ? '–' : '0', dim: true });
// What a process has lost that does not answer is not known.
const lossCell = x => ({ text: x.lost ? compact(x.lost) : x.status === 'unreachable' ? '–' : '0', title: x.causes ? causes(x.causes) : undefined, bad: x.loss_rate > 0, dim: !x.lost });
const queueCell = x => (x.queue === undefined ? '–' : { text: percent(x.queue), bar: x.queue, tone: queueTone(x.queue) });
// processState says of a process that stood still that it did, in the colour of one that loses: its peers have no fault.
const processState = x => {
  if (x.own_stalls && (x.status === 'ok' || x.status === 'lost')) return { text: 'stood still', status: 'losing', title: `${plural(x.own_stalls, 'peer')} ended the connection because it took nothing` };
  return { text: x.status === 'stalled' ? `stalled: ${x.stalled}` : x.status, status: x.status, title: x.error };
};
const nameCell = context => x => ({ text: label(x), href: context.instance(x.id), title: `${label(x)}  ${x.id}` });

export const processColumns = context => [
  { key: 'name', title: 'Name', cell: nameCell(context) },
  { key: 'status', title: 'State', cell: processState },
  { key: 'role', title: 'Role', prio: 3, cell: x => ({ text: x.role, dim: true }) },
  { key: 'host', title: 'Host', prio: 2, cell: x => x.host },
  { key: 'peers', title: 'Subs', num: true, prio: 2, hint: 'connected subscribers, of a receiver senders', cell: x => (x.status === 'unreachable' ? '–' : exact(x.peers)) },
  { key: 'rate', title: 'msg/s', num: true, cell: x => zero(x.rate, compact) },
  { key: 'bytes', title: 'Payload/s', num: true, prio: 2, cell: x => zero(x.bytes, bytes) },
  { key: 'queue', title: 'Fullest queue', prio: 3, cell: queueCell },
  { key: 'free', title: 'Free pages', num: true, prio: 3, cell: x => (x.pool ? `${exact(x.free)} / ${exact(x.pool)}` : '–') },
  { key: 'refused', title: 'Refused/s', num: true, prio: 3, hint: 'times a second that there was no room for a message', cell: x => zero(x.refused, compact) },
  { key: 'lost', title: 'Lost', num: true, cell: lossCell },
  { key: 'since', title: 'Up', num: true, prio: 3, cell: x => (x.since ? { text: span(context.time - x.since), title: new Date(x.since).toISOString() } : '–') },
];

export const peerColumns = (context, of = 'Pubs') => [
  { key: 'name', title: 'Name', cell: nameCell(context) },
  { key: 'status', title: 'State', cell: x => ({ text: x.stalled_since ? `stalled ${span(context.time - x.stalled_since)}` : x.status, status: x.status }) },
  { key: 'role', title: 'Role', prio: 3, cell: x => ({ text: x.role, dim: true }) },
  { key: 'host', title: 'Host', prio: 2, cell: x => x.host || '–' },
  { key: 'via', title: 'Via', prio: 3, hint: 'transport of the connection', cell: x => ({ text: (x.via || []).join(', ') || '–', title: x.unused ? `not by ${x.unused.join('; ')}` : undefined }) },
  { key: 'policy', title: 'Policy', prio: 3, cell: x => (x.policies || []).join(', ') || '–' },
  ...(of ? [{ key: 'of', title: of, num: true, prio: 3, hint: 'connections', cell: x => exact(x.of) }] : []),
  { key: 'rate', title: 'msg/s', num: true, cell: x => zero(x.rate, compact) },
  { key: 'bytes', title: 'Bytes/s', num: true, prio: 3, hint: 'of the pages, on the wire', cell: x => zero(x.bytes, bytes) },
  { key: 'queue', title: 'Queue', prio: 2, cell: queueCell },
  { key: 'rtt', title: 'RTT', num: true, prio: 3, cell: x => trip(x.rtt) },
  { key: 'resent', title: 'Resent', num: true, prio: 3, hint: 'segments of TCP that were sent again', cell: x => (x.resent === undefined ? '–' : exact(x.resent)) },
  { key: 'heard', title: 'Heard', num: true, prio: 3, hint: 'when anything came from it last', cell: x => (x.heard ? `${span(context.time - x.heard)} ago` : '–') },
  { key: 'lost', title: 'Lost', num: true, cell: lossCell },
];

export const tagColumns = context => [
  { key: 'tag', title: 'Tag', cell: x => ({ text: x.tag, href: context.tag(x.tag) }) },
  { key: 'by', title: 'Served by', prio: 2, cell: x => ({ text: x.of > 1 ? `${x.by || x.by_id} and ${x.of - 1} more` : x.by || x.by_id, bad: false, title: x.by_id }) },
  { key: 'of', title: 'Pubs', num: true, prio: 3, cell: x => exact(x.of) },
  { key: 'peers', title: 'Subs', num: true, hint: 'queues of subscribers that want it', cell: x => exact(x.peers) },
  { key: 'rate', title: 'msg/s', num: true, cell: x => (x.rate === undefined ? '–' : compact(x.rate)) },
  { key: 'bytes', title: 'Payload/s', num: true, prio: 2, cell: x => (x.bytes === undefined ? '–' : bytes(x.bytes)) },
  { key: 'count', title: 'Messages', num: true, prio: 2, cell: x => exact(x.count) },
  { key: 'last', title: 'Last', num: true, prio: 3, cell: x => clock(x.last) },
  { key: 'lost', title: 'Lost', num: true, prio: 3, cell: lossCell },
];

const lossColumns = context => [
  { key: 'from', title: 'Publisher', cell: x => ({ text: x.from || x.from_id, href: context.instance(x.from_id) }) },
  { key: 'to', title: 'Subscriber', cell: x => ({ text: x.to || x.to_id, title: x.to_id }) },
  { key: 'cause', title: 'Cause', cell: x => x.cause },
  { key: 'n', title: 'Messages', num: true, cell: x => ({ text: exact(x.n), bad: x.now }) },
  { key: 'first', title: 'First', num: true, prio: 2, cell: x => clock(x.first) },
  { key: 'last', title: 'Last', num: true, prio: 2, cell: x => clock(x.last) },
  { title: 'When', prio: 3, cell: x => ({ text: x.now ? 'now' : x.gone ? 'has gone' : '', dim: !x.now, bad: x.now }) },
];

const kinds = {
  processes: c => ({ title: c.words.processes, columns: processColumns(c), identify: x => x.id, none: 'The directory lists nothing that matches. A bus that is empty shows processes once a publisher or receiver is started with its --bus.' }),
  peers: c => ({ title: c.words.peers, columns: peerColumns(c, c.scope.of === 'bus' ? 'Pubs' : ''), identify: x => x.id, none: 'There is none that matches.' }),
  tags: c => ({ title: 'Tags', columns: tagColumns(c), identify: x => x.tag, none: 'No tag had a message, or none matches. A whole tag is asked for wherever it is.' }),
  losses: c => ({ title: 'Losses', columns: lossColumns(c), identify: x => `${x.from_id} ${x.to_id} ${x.cause} ${x.gone || ''}`, none: 'Nothing that matches was lost.' }),
};

function note(kind, frame, context) {
  const { total, matched } = frame.table;
  const parts = [matched === total ? exact(total) : `${exact(matched)} of ${exact(total)}`];
  const t = frame.totals;
  if (kind === 'tags' && t.tags > total) parts.push(`the busiest of ${exact(t.tags)}; type a whole tag to see any other`);
  if ((kind === 'peers' || kind === 'losses') && t.left_out) parts.push(`${plural(t.left_out, 'connection')} in order left out: each publisher names its worst`);
  if (kind === 'losses' && t.lost) parts.push(`${plural(t.lost, 'message')} in all`);
  return parts.join(' · ') + (context.filter ? ` · filter: ${context.filter}` : '');
}

export function tableView(kind, context) {
  const { title, columns, identify, none } = kinds[kind](context);
  const table = new Table({ label: title, columns, identify, none, sortBy: context.sortBy, ask: context.askRows });
  const el = panel(title, 'w12', table.el, table.empty);
  return {
    el: h('div', { class: 'grid' }, el),
    range: () => table.range(),
    sorted: (key, descending) => table.sorted(key, descending),
    top() { table.el.scrollTop = 0; table.at = 0; },
    update(frame) {
      if (!frame.table) return;
      table.update(frame.table);
      setText(el.note, note(kind, frame, context));
    },
  };
}

// smallTable is a table whose rows all come with the frame.
export function smallTable(label, columns, identify, none) {
  const table = new Table({ label, columns, identify, none, ask() {} });
  table.el.classList.add('short');
  return {
    nodes: [table.el, table.empty],
    show(rows) { table.update({ rows, offset: 0, matched: rows.length }); },
  };
}
