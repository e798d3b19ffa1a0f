import { ApiError } from "../api/errors";
import type { components } from "../api/schema";
import { pause, read } from "./sse";

/** A change of something in the tenant. */
export type Change = components["schemas"]["ChangeView"];

export interface FeedState {
  /** connecting: no connection yet. live: changes arrive. lost: since a time. absent: this server has no feed, so pages ask again now and then. */
  status: "connecting" | "live" | "lost" | "absent";
  since: number;
}

type Message = { kind: "changes"; changes: Change[] } | { kind: "reload" } | { kind: "state"; state: FeedState } | { kind: "hello" };

/** Feed has one connection for all tabs of a browser: the tab with a lock reads the stream, the others listen to it. */
export class Feed {
  private readonly channel: BroadcastChannel;
  private readonly stop = new AbortController();
  private readonly watchers = new Set<() => void>();
  private leads = false;
  private cursor = "";
  private waiting: Change[] = [];
  private timer = 0;
  state: FeedState = { status: "connecting", since: Date.now() };

  /** changed is told of changes, a batch at a time; reload, that some were missed. */
  constructor(
    name: string,
    private readonly changed: (changes: Change[]) => void,
    private readonly reload: () => void,
  ) {
    this.channel = new BroadcastChannel(`awaken.feed ${name}`);
    this.channel.onmessage = (e: MessageEvent<Message>) => this.hear(e.data);
    this.channel.postMessage({ kind: "hello" } satisfies Message);
    void this.lead(`awaken.feed ${name}`);
  }

  close() {
    this.stop.abort();
    window.clearTimeout(this.timer);
    this.channel.close();
  }

  watch(watcher: () => void) {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  private hear(m: Message) {
    switch (m.kind) {
      case "changes":
        this.changed(m.changes);
        break;
      case "reload":
        this.reload();
        break;
      case "state":
        this.enter(m.state);
        break;
      case "hello":
        if (this.leads) this.tell({ kind: "state", state: this.state });
    }
  }

  private tell(m: Message) {
    if (!this.stop.signal.aborted) this.channel.postMessage(m);
  }

  private enter(state: FeedState) {
    this.state = state;
    for (const w of this.watchers) w();
  }

  private move(status: FeedState["status"]) {
    if (this.state.status === status && this.leads) return;
    this.enter({ status, since: Date.now() });
    this.tell({ kind: "state", state: this.state });
  }

  private async lead(lock: string) {
    const { signal } = this.stop;
    const work = () => this.follow();
    try {
      if (navigator.locks) await navigator.locks.request(lock, { signal }, work);
      else await work(); // pages that are not on a secure origin have no locks
    } catch (err) {
      if (!signal.aborted) throw err;
    }
  }

  /** follow reads the stream, again and again, until the feed is closed. */
  private async follow() {
    this.leads = true;
    const { signal } = this.stop;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const path = "/v1/events/stream" + (this.cursor ? `?cursor=${encodeURIComponent(this.cursor)}` : "");
        await read(
          path,
          (frame) => {
            if (frame.id) this.cursor = frame.id;
            if (frame.data && frame.event !== "event") this.collect(JSON.parse(frame.data) as Change);
          },
          signal,
          () => {
            const missed = !this.cursor; // also the first time: what pages have read is older than the stream
            attempt = 0;
            this.move("live");
            if (missed) this.again();
          },
        );
      } catch (err) {
        if (signal.aborted) return;
        if (err instanceof ApiError && err.status === 410) {
          this.cursor = "";
          this.again();
          continue;
        }
        if (err instanceof ApiError && [400, 401, 403, 404, 405].includes(err.status)) {
          this.move("absent");
          await pause(5, signal);
          continue;
        }
      }
      if (signal.aborted) return;
      this.move("lost");
      await pause(attempt, signal);
    }
  }

  private again() {
    this.reload();
    this.tell({ kind: "reload" });
  }

  /** collect passes changes on a few times per second, however many there are. */
  private collect(change: Change) {
    this.waiting.push(change);
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      const changes = this.waiting;
      this.waiting = [];
      this.timer = 0;
      this.changed(changes);
      this.tell({ kind: "changes", changes });
    }, 250);
  }
}
