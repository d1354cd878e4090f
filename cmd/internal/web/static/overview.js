// SPDX-License-Identifier: Apache-2.0

// The first view: rates, what needs a look, losses by cause, queues.

import { bar, h, list, panel, queueTone, setAttribute, setBar, setText, status } from './dom.js';
import { Chart } from './charts.js';
import { bytes, causeText, causes, clock, compact, exact, label, percent, plural, span } from './format.js';

const KEPT = 3600 + 2880; // an hour of looks, and a day of means of 30 s

// points are those that the server has sent; they outlive the view.
const points = { t: [], m: [], b: [], l: [], s: [] };

function keep(history) {
  // What is known twice, as the server is a new one, or its clock was set back.
  const double = points.t.findIndex(t => t >= history.t[0] / 1000);
  if (double >= 0) for (const series of Object.values(points)) series.length = double;
  for (const key of Object.keys(points)) {
    points[key].push(...(key === 't' ? history.t.map(t => t / 1000) : history[key]));
    points[key].splice(0, points[key].length - KEPT);
  }
}

const item = () => {
  const name = h('a', { class: 'name' });
  const value = h('span', { class: 'value' });
  const line = bar(0);
  return { el: h('li', {}, name, value, line), name, value, line };
};

function showItem(it, href, name, value, share, tone) {
  setAttribute(it.name, 'href', href);
  setText(it.name, name);
  setText(it.value, value);
  setBar(it.line, share, tone);
}

// reason says what is wrong with a process or peer, and what it means.
function reason(x, time) {
  if (x.kind === 'problem') return x.text;
  if (x.status === 'unreachable') return x.error || 'it did not answer';
  if (x.status === 'stalled') return `takes nothing${x.stalled_since ? ` for ${span(time - x.stalled_since)}` : ''}; queue ${percent(x.queue)}${x.policies ? `; policy ${x.policies.join(', ')}` : ''}${x.loss_rate ? `; ${losses(x)}` : ''}`;
  return losses(x);
}

function losses(x) {
  const what = x.loss_rate ? `loses ${compact(x.loss_rate)} messages a second` : 'has lost messages a moment ago';
  return `${what}: ${causes(x.causes)}`;
}

export function overview(context) {
  const wide = context.scope.of === 'bus';
  const chart = (title, key, tone, format) => {
    const c = new Chart({ tone, format, describe: (last, high) => `${title} over the last day: now ${last}, highest ${high}` });
    return { c, key, format, el: panel(title, 'w4', c.el) };
  };
  const charts = [
    chart('Messages per second', 'm', '--accent', compact),
    chart('Payload per second', 'b', '--teal', bytes),
    chart('Lost messages per second', 'l', '--bad', compact),
  ];
  const worst = list(() => {
    const name = h('a', { class: 'name' });
    const word = status('');
    const more = h('span', { class: 'more whole' });
    return { el: h('li', {}, name, h('span', { class: 'value' }, word), more), name, word, more };
  }, (it, x) => {
    setAttribute(it.name, 'href', x.id ? context.instance(x.id) : null);
    setText(it.name, label(x));
    setText(it.word, x.status);
    setAttribute(it.word, 'data-status', x.status);
    setText(it.more, reason(x, context.time));
    setAttribute(it.more, 'title', it.more.textContent);
  }, 'Every process answers, none is gone, all take what they are sent, and nothing is lost now.');
  let most = 1;
  const lost = list(() => {
    const name = h('span', { class: 'name' });
    const value = h('span', { class: 'value' });
    const line = bar(0, 'warn');
    const more = h('span', { class: 'more whole' });
    return { el: h('li', {}, name, value, line, more), name, value, line, more };
  }, (it, c) => {
    setText(it.name, c.cause);
    setText(it.value, exact(c.n));
    setBar(it.line, c.n / most, c.last && context.time - c.last < 5000 ? 'bad' : 'warn');
    setText(it.more, `${causeText[c.cause] || ''}${c.last ? `; first ${clock(c.first)}, last ${clock(c.last)}` : ''}`);
  }, 'No message was lost.');
  const queues = list(item, (it, p) => showItem(it, context.instance(p.id), label(p), percent(p.queue), p.queue, queueTone(p.queue)), 'There are no queues.');
  let top = 1;
  const busiest = list(item, (it, p) => showItem(it, context.instance(p.id), label(p), p.rate === undefined ? '–' : `${compact(p.rate)}/s · ${bytes(p.bytes)}/s`, (p.rate || 0) / top, 'teal'), 'Nothing is announced.');
  const panels = {
    worst: panel('Needs a look', 'w3 stretch', h('div', { class: 'body' }, worst.nodes)),
    lost: panel('Losses by cause', 'w3 stretch', h('div', { class: 'body' }, lost.nodes)),
    queues: panel('Fullest queues', 'w3 stretch', h('div', { class: 'body' }, queues.nodes)),
    busiest: panel(wide ? 'Busiest' : 'Rate', 'w3 stretch', h('div', { class: 'body' }, busiest.nodes)),
  };
  return {
    el: h('div', { class: 'grid' }, charts.map(c => c.el), panels.worst, panels.queues, panels.lost, panels.busiest),
    update(frame) {
      if (frame.history) {
        keep(frame.history);
        context.stream.seq = frame.history.seq;
      }
      for (const { c, key, format, el } of charts) {
        c.show(points.t, points[key]);
        const now = points[key][points[key].length - 1];
        setText(el.now, now === undefined || now === null ? '–' : format(now));
      }
      const needy = frame.worst || [];
      worst.show(needy);
      setText(panels.worst.note, needy.length ? (frame.troubles > needy.length ? `${exact(frame.troubles)} in all` : plural(needy.length, 'row')) : '');
      most = Math.max(1, ...(frame.causes || []).map(c => c.n));
      lost.show(frame.causes || []);
      setText(panels.lost.note, frame.totals.lost ? plural(frame.totals.lost, 'message') : '');
      queues.show(frame.fullest || []);
      top = Math.max(1, ...(frame.busiest || []).map(p => p.rate || 0));
      busiest.show(frame.busiest || []);
    },
    end() { charts.forEach(({ c }) => c.end()); },
  };
}
