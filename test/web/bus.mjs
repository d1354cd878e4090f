// SPDX-License-Identifier: Apache-2.0

// A bus of real processes: publishers, subscribers, and the page.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// until waits for something that becomes true, and says what it waited for if it does not.
export async function until(what, check, patience = 15000) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`after ${patience / 1000} s there is still no ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

export class Bus {
  constructor(bin, folder) {
    Object.assign(this, { bin, folder, bus: join(folder, 'bus'), running: new Set() });
  }

  static async open(bin) { return new Bus(bin, await mkdtemp(join(tmpdir(), 'tagbus-web-'))); }

  // start starts a command; its summary is one line of JSON on standard output.
  start(command, ...args) {
    const child = spawn(join(this.bin, command), args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const p = { child, out: '', err: '', stopped: false };
    child.stdout.on('data', d => { p.out += d; });
    child.stderr.on('data', d => { p.err += d; });
    p.ended = new Promise(resolve => child.on('close', (code, signal) => {
      this.running.delete(p);
      resolve({ code, signal });
    }));
    p.said = pattern => until(`${pattern} of ${command} ${args.join(' ')}, which says:\n${p.err}`, () => p.err.match(pattern));
    p.end = async () => {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await p.ended;
      return JSON.parse(p.out);
    };
    this.running.add(p);
    return p;
  }

  publisher(name, tags, ...args) {
    return this.start('publisher', '--bus', this.bus, '--json', '--name', name, '--tags', tags, '--heartbeat-timeout', '0', ...args);
  }

  // messages publishes so many messages of 100 bytes, and waits for more.
  messages(name, tags, n) {
    const p = this.publisher(name, tags, '--input', '-', '--record', 'fixed:100');
    p.child.stdin.write(Buffer.alloc(100 * n));
    return p;
  }

  // bursts publishes a thousand messages of 1,000 bytes at a time, five times a second.
  bursts(name, tags) {
    const p = this.publisher(name, tags, '--input', '-', '--record', 'fixed:1000');
    const burst = Buffer.alloc(1000 * 1000);
    const timer = setInterval(() => { if (p.child.stdin.writableLength === 0) p.child.stdin.write(burst); }, 200);
    p.child.stdin.on('error', () => {}); // it has ended first
    p.child.on('close', () => clearInterval(timer));
    return p;
  }

  subscriber(name, tags, ...args) {
    return this.start('subscriber', '--bus', this.bus, '--json', '--name', name, '--tags', tags, '--heartbeat-timeout', '0', ...args);
  }

  async web(...args) {
    const p = this.start('tagbus', 'web', '--bus', this.bus, '--listen', '127.0.0.1:0', ...args);
    p.url = (await p.said(/the page is at (http:\S+)/))[1];
    return p;
  }

  async close() {
    for (const p of this.running) {
      p.child.kill('SIGCONT');
      p.child.kill('SIGKILL');
    }
    await Promise.all([...this.running].map(p => p.ended));
    await rm(this.folder, { recursive: true, force: true });
  }
}

export const json = async path => JSON.parse(await readFile(path));
