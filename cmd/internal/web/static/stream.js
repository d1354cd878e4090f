// SPDX-License-Identifier: Apache-2.0

// The stream of frames. It says in its address what is shown; to show something else it is
// opened again.

const PAUSE = 2000; // before it is tried again

export class Stream {
  constructor(onFrame, onState) {
    this.onFrame = onFrame;
    this.onState = onState;
    this.seq = 0;
    addEventListener('pagehide', () => this.close());
    document.addEventListener('visibilitychange', () => {
      // A page that is not seen costs nothing.
      if (document.hidden) this.close('paused');
      else if (this.query) this.open(this.query);
    });
  }

  // open shows what the query says, soon: what changes often is asked for once.
  open(query, delay = 0) {
    this.query = query;
    this.close(); // what comes now is the answer to another question
    this.later = setTimeout(() => this.connect(), delay);
  }

  close(state) {
    clearTimeout(this.later);
    if (this.source) this.source.close();
    this.source = undefined;
    if (state) this.onState(state);
  }

  connect() {
    this.close();
    const query = new URLSearchParams(this.query);
    if (query.get('view') === 'overview') query.set('since', this.seq);
    const source = new EventSource(`live?${query}`);
    this.source = source;
    source.onmessage = event => {
      if (source !== this.source) return;
      const frame = JSON.parse(event.data);
      this.onState('live');
      this.onFrame(frame);
    };
    source.onerror = () => {
      if (source !== this.source) return;
      source.close();
      this.source = undefined;
      this.onState('lost');
      this.later = setTimeout(() => this.connect(), PAUSE);
    };
  }
}
