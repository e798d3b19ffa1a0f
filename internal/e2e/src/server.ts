// The built server, as a process of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createBalancer, request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env.AWAKEN_BIN;

// With AWAKEN_REPLICAS=3, a server is three processes behind a load balancer that sends each request to
// another one than the request before. Each server takes one of the databases in AWAKEN_DATABASES, the URLs
// of empty PostgreSQL databases with blanks between them.
const replicas = Number(process.env.AWAKEN_REPLICAS ?? 1);
const databases = (process.env.AWAKEN_DATABASES ?? "").split(" ").filter(Boolean);

/**
 * Returns a port that is free, above those that browsers refuse, and below those that systems give away: a server that is started again
 * finds its port free.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(11_000, 32_000);
    const probe = createServer();
    const free = await new Promise<boolean>((done) => probe.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)));
    if (!free) continue;
    await new Promise((done) => probe.close(done));
    return port;
  }
}

/** A load balancer that sends each request to the port that it is told. */
export class Gate {
  url = "";
  private readonly open = new Set<() => void>();
  private readonly listener = createBalancer((req, res) => {
    const { method, url, headers } = req;
    const out = request({ host: "127.0.0.1", port: this.port(), method, path: url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.on("error", () => res.destroy());
      answer.pipe(res);
    });
    const end = () => {
      out.destroy();
      res.destroy();
    };
    this.open.add(end);
    out.on("error", () => res.destroy());
    res.on("close", () => {
      this.open.delete(end);
      out.destroy();
    });
    req.pipe(out);
  });

  constructor(public port: () => number) {}

  async start(at = 0): Promise<this> {
    await new Promise<void>((done) => this.listener.listen(at, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${(this.listener.address() as { port: number }).port}`;
    return this;
  }

  /** Cuts every connection. */
  cut() {
    for (const end of this.open) end();
  }

  close() {
    this.listener.closeAllConnections();
    this.listener.close();
  }
}

/** A server with the demo's agents on a store of its own, with settings in YAML. */
export class Server {
  url = "";
  private processes: ChildProcess[] = [];
  port = 0;
  private ports: number[] = []; // of the replicas
  private balancer?: Gate;
  private database: string[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), "awaken-e2e-"));

  constructor(private settings = "") {}

  async start(): Promise<this> {
    if (!binary) throw new Error("AWAKEN_BIN names no program: go build -o awaken ./cmd/awaken");
    this.port ||= await freePort();
    writeFileSync(join(this.folder, "awaken.yaml"), this.settings);
    if (replicas > 1) await this.startReplicas();
    else this.processes = [await this.spawn(this.port)];
    this.url = `http://127.0.0.1:${this.port}`;
    return this;
  }

  private async spawn(port: number): Promise<ChildProcess> {
    const child = spawn(binary!, ["serve", "--seed", "demo", "--address", `127.0.0.1:${port}`, "--storage-dir", this.folder, ...this.database], {
      env: { PATH: process.env.PATH, HOME: this.folder },
      stdio: ["ignore", "pipe", "pipe"],
      cwd: this.folder,
    });
    let said = "";
    await new Promise<void>((ready, failed) => {
      const hear = (data: Buffer) => {
        said += data;
        if (said.includes("listens on")) ready();
      };
      child.stdout!.on("data", hear);
      child.stderr!.on("data", hear);
      child.once("exit", (code) => failed(new Error(`the server ended with ${code}: ${said}`)));
    });
    return child;
  }

  private async startReplicas() {
    if (this.database.length === 0) {
      const url = databases.shift();
      if (!url) throw new Error("AWAKEN_DATABASES names too few databases");
      this.database = ["--database", url];
      for (let i = 0; i < replicas; i++) this.ports.push(await freePort());
    }
    this.processes = [];
    for (const port of this.ports) this.processes.push(await this.spawn(port));
    let next = 0;
    this.balancer ??= await new Gate(() => this.ports[next++ % replicas]).start(this.port);
  }

  /** Starts another process on the same store, and returns its port. It ends with the server. */
  async another(): Promise<number> {
    const port = await freePort();
    this.processes.push(await this.spawn(port));
    return port;
  }

  /** Ends the process, and returns when it is gone. */
  async end(signal: NodeJS.Signals = "SIGTERM") {
    await Promise.all(
      this.processes.map(async (child) => {
        child.removeAllListeners("exit");
        if (child.exitCode !== null || child.signalCode !== null) return; // it has ended by itself
        const gone = new Promise((done) => child.once("exit", done));
        child.kill(signal);
        await gone;
      }),
    );
  }

  async restart(signal: NodeJS.Signals = "SIGTERM") {
    await this.end(signal);
    await this.start();
  }

  async close() {
    await this.end("SIGKILL");
    this.balancer?.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 }); // processes that the server started may still write
  }
}
