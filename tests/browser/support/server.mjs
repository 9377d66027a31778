// Starts the program and, for one of the stores, a private PostgreSQL. Everything ends with the test.
import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { existsSync, mkdtempSync, chownSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './work.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
export const program = process.env.FF_BROWSER_PROGRAM ?? path.join(root, 'build/dev/bin/flowfabric');
export const storeKind = process.env.FF_BROWSER_STORE ?? 'sqlite';

const atEnd = [];
let cluster; // the URL of PostgreSQL, once it runs
let databases = 0;
/** Undoes everything that this process has started, the newest first. */
export async function cleanUp() {
  for (const undo of atEnd.splice(0).reverse()) await undo();
  cluster = undefined;
}

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.stderr || done.stdout || done.error}`);
  return done.stdout;
}

/** Runs a command of the program, such as `api-keys create`, on a store. */
export const flowfabric = (...args) => run(program, args);

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** PostgreSQL refuses to run as root, so root runs it as the user that the package made. */
function postgresUser() {
  if (process.getuid() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8').split('\n').find((entry) => entry.startsWith('postgres:'));
  if (!line) throw new Error('PostgreSQL cannot run as root and there is no user named postgres');
  const [, , uid, gid] = line.split(':').map(Number);
  return { uid, gid };
}

async function startPostgres() {
  const installed = '/usr/lib/postgresql';
  const versions = existsSync(installed) ? readdirSync(installed).map(Number).sort((a, b) => b - a) : [];
  const bin = versions.length > 0 ? path.join(installed, String(versions[0]), 'bin') : path.dirname(run('which', ['postgres']).trim());
  const user = postgresUser();
  const directory = mkdtempSync(path.join(tmpdir(), 'ff-browser-pg-'));
  atEnd.push(() => rmSync(directory, { recursive: true, force: true }));
  if (user.uid !== undefined) chownSync(directory, user.uid, user.gid);
  const data = path.join(directory, 'data');
  const options = { ...user, cwd: directory, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  run(path.join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], options);
  const port = await freePort();
  const server = spawn(path.join(bin, 'postgres'), ['-D', data, '-p', String(port), '-k', directory, '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off'], { ...options, stdio: 'ignore' });
  atEnd.push(() => stopped(server, 'SIGQUIT'));
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await until('PostgreSQL accepts connections', () => spawnSync('psql', [url, '-c', 'select 1']).status === 0);
  return url;
}

function stopped(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill(signal);
  });
}

/** A database of its own for each caller, in a private PostgreSQL or in the one that FF_TEST_POSTGRES names. */
async function newStore() {
  if (storeKind === 'sqlite') {
    const directory = mkdtempSync(path.join(tmpdir(), 'ff-browser-'));
    atEnd.push(() => rmSync(directory, { recursive: true, force: true }));
    return `sqlite:${path.join(directory, 'flow.db')}`;
  }
  cluster ??= process.env.FF_TEST_POSTGRES ? Promise.resolve(process.env.FF_TEST_POSTGRES) : startPostgres();
  const url = await cluster;
  databases += 1;
  const name = `ff_browser_${process.pid}_${databases}`;
  run('psql', [url, '-q', '-c', `create database ${name}`]);
  atEnd.push(() => { spawnSync('psql', [url, '-q', '-c', `drop database if exists ${name} with (force)`]); });
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

class Server {
  constructor(store, options) {
    this.store = store;
    this.options = options;
    this.port = 0;
  }

  async start() {
    const args = ['serve', '--store', this.store, '--listen', `127.0.0.1:${this.port}`, ...(this.options.includes('--log-level') ? [] : ['--log-level', 'warn']), ...this.options];
    if (this.store.startsWith('postgres')) args.push('--migrate', 'true');
    this.output = '';
    this.child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const pipe of [this.child.stdout, this.child.stderr]) pipe.on('data', (data) => { this.output += data; });
    this.child.once('error', (error) => { this.output += error.message; });
    this.url = await until('the server says its address', () => {
      const address = /serves .* at (http:\S+)/.exec(this.output)?.[1];
      if (!address) throw new Error(this.output);
      return address;
    });
    this.port = Number(new URL(this.url).port);
    return this;
  }

  stop() { return stopped(this.child, 'SIGTERM'); }
}

/** A server with an empty store; `prepare` may write to the store before. */
export async function startServer({ options = [], prepare } = {}) {
  const store = await newStore();
  if (prepare) flowfabric('migrate', store);
  const prepared = prepare ? await prepare(store) : undefined;
  const server = await new Server(store, options).start();
  atEnd.push(() => server.stop());
  return Object.assign(server, { prepared });
}
