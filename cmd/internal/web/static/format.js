// SPDX-License-Identifier: Apache-2.0

// How figures are written: three digits and a unit that fits, or all digits.

const THIN = '\u202f';

function scaled(x, units) {
  let i = 0;
  while (Math.abs(x) >= 999.5 && i < units.length - 1) {
    x /= 1000;
    i++;
  }
  const digits = x >= 99.95 || x === 0 ? 0 : x >= 9.995 ? 1 : 2;
  const text = i === 0 && Number.isInteger(x) ? String(x) : x.toFixed(digits);
  return [text, units[i]];
}

export function compact(x) {
  const [text, unit] = scaled(x || 0, ['', 'k', 'M', 'G', 'T', 'P']);
  return unit ? `${text}${THIN}${unit}` : text;
}

export const bytesParts = x => scaled(x || 0, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
export const compactParts = x => scaled(x || 0, ['', 'k', 'M', 'G', 'T', 'P']);
export const bytes = x => bytesParts(x).join(THIN);
export const exact = n => Number(n || 0).toLocaleString('en-US');
export const percent = x => `${Math.round((x || 0) * 100)}${THIN}%`;
export const plural = (n, one, many) => `${exact(n)} ${n === 1 ? one : many || `${one}s`}`;

// span writes a time in milliseconds by its two largest units.
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}${THIN}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}${THIN}min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}${THIN}h ${minutes % 60}${THIN}min`;
  return `${Math.floor(hours / 24)}${THIN}d ${hours % 24}${THIN}h`;
}

export function clock(ms) {
  if (!ms) return '–';
  const at = new Date(ms);
  const two = n => String(n).padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

export const trip = seconds => (seconds ? (seconds < 0.001 ? `${Math.round(seconds * 1e6)}${THIN}µs` : `${(seconds * 1000).toFixed(1)}${THIN}ms`) : '–');

// label is what a process is called: its name, or what else is known.
export const label = x => x.name || (x.host ? `${x.host}${x.pid ? `:${x.pid}` : ''}` : x.id);

export const causes = list => (list || []).map(c => `${c.cause} ${compact(c.n)}`).join(', ');
export const causeText = {
  full: 'its queue was full',
  memory: 'the pool had no page',
  connection: 'lost with a connection',
  ended: 'missing at the end of a publisher',
  overflow: 'received, and lost in a full queue of a subscription',
  panic: 'received, and the handler panicked',
};
