// SPDX-License-Identifier: Apache-2.0

// Lines over time, by uPlot.

import { h } from './dom.js';
import { clock } from './format.js';

/* global uPlot */

const charts = new Set();

// colour resolves a custom property of the style sheet, which depends on the theme.
function colour(name) {
  const probe = h('span', {});
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

const faded = rgb => rgb.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.12)');

export class Chart {
  // describe makes the label for those who do not see the chart.
  constructor({ tone, format, describe, height = 150 }) {
    Object.assign(this, { tone, format, describe, tall: height });
    this.el = h('div', { class: 'chart', role: 'img', 'aria-label': describe('unknown', 'unknown') });
    this.data = [[], []];
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.el);
    charts.add(this);
  }

  make() {
    if (this.plot) this.plot.destroy();
    const line = colour(this.tone);
    const dim = colour('--dim');
    const grid = { stroke: colour('--line'), width: 1 };
    const font = '11px system-ui, sans-serif';
    this.tip = h('div', { class: 'tip', hidden: true });
    this.plot = new uPlot({
      width: this.width(), height: this.tall, padding: [8, 26, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7, fill: line } },
      scales: { y: { range: (u, low, high) => [0, high > 0 ? high * 1.12 : 1] } },
      axes: [
        { stroke: dim, font, grid: { show: false }, ticks: { show: false }, size: 24, space: 70, values: (u, at) => at.map(t => clock(t * 1000).slice(-8, u.scales.x.max - u.scales.x.min > 240 ? -3 : undefined)) },
        { stroke: dim, font, grid, ticks: { show: false }, size: 58, space: 34, values: (u, values) => values.map(v => this.format(v).replace(/\.0+(?=\D|$)|(\.\d*[1-9])0+(?=\D|$)/, '$1')) },
      ],
      series: [{}, { stroke: line, fill: faded(line), width: 1.5, points: { show: false }, spanGaps: false }],
      hooks: { setCursor: [u => this.hover(u)] },
    }, this.data, this.el);
    this.plot.over.append(this.tip);
  }

  hover(u) {
    const i = u.cursor.idx;
    const y = i === null || i === undefined ? null : u.data[1][i];
    this.tip.hidden = y === null || y === undefined || u.cursor.left < 0;
    if (this.tip.hidden) return;
    this.tip.textContent = `${clock(u.data[0][i] * 1000)}  ${this.format(y)}`;
    const x = Math.min(u.cursor.left + 10, u.over.clientWidth - this.tip.offsetWidth);
    this.tip.style.left = `${Math.max(0, x)}px`;
    this.tip.style.top = '0px';
  }

  width() { return Math.max(120, this.el.clientWidth - 16); }

  resize() {
    if (this.plot && this.plot.width !== this.width()) this.plot.setSize({ width: this.width(), height: this.tall });
  }

  // show takes times in seconds and values; where looks were missing there is a gap.
  show(times, values) {
    const x = [];
    const y = [];
    times.forEach((t, i) => {
      if (i > 0 && t - times[i - 1] > (i > 1 && times[i - 1] - times[i - 2] > 20 ? 65 : 4)) {
        x.push(times[i - 1] + 1);
        y.push(null);
      }
      x.push(t);
      y.push(values[i]);
    });
    this.data = [x, y];
    if (!this.plot) this.make();
    else this.plot.setData(this.data);
    const last = values.length ? values[values.length - 1] : null;
    this.el.setAttribute('aria-label', this.describe(last === null ? 'unknown' : this.format(last), this.format(Math.max(0, ...values))));
  }

  end() {
    charts.delete(this);
    this.observer.disconnect();
    if (this.plot) this.plot.destroy();
  }
}

// recolour draws all charts again, in the colours of another theme.
export function recolour() {
  for (const chart of charts) if (chart.plot) chart.make();
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
