/**
 * Runs every test file of a Jest worker in the worker's own realm, so that product code and packages are loaded once per
 * worker. Jest's default environment gives each file its own realm and module registry. Loading the product into each took
 * 2.7–3.6 s of CPU per file, half of the whole suite. Test code itself is still loaded per file.
 *
 * Consequence for tests: module state (caches, metadata, registries) outlives a file. Spies are undone after each file.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import vm from 'node:vm';
import { ModernFakeTimers } from '@jest/fake-timers';
import { TestEnvironment } from 'jest-environment-node';
import { ModuleMocker } from 'jest-mock';
import { default as Runtime } from 'jest-runtime';

const realConsole = globalThis.console;
const ownContexts = new WeakSet();
const compileFunction = vm.compileFunction;

// Jest compiles each module for the realm of its environment. Only omitting parsingContext selects the current realm.
vm.compileFunction = (source, parameters, options) =>
  compileFunction(
    source,
    parameters,
    ownContexts.has(options?.parsingContext) ? { ...options, parsingContext: undefined } : options,
  );

// Loading these into each file takes a quarter of a second of CPU. Files share the state of matchers anyway, because it is global,
// and the others have none.
const SHARED = ['@jest/expect', 'jest-each', 'jest-message-util', 'jest-snapshot'];
const { requireInternalModule } = Runtime.prototype;
Runtime.prototype.requireInternalModule = function (from, name) {
  return SHARED.includes(name) ? createRequire(from)(name) : requireInternalModule.call(this, from, name);
};

// Jest's runner notes the running test in a storage, which would slow down every promise of the process by a tenth. The tests of
// a file run one after another, so a property does the same.
const { run, getStore } = AsyncLocalStorage.prototype;
const running = Symbol('running test');
AsyncLocalStorage.prototype.run = function (store, callback, ...given) {
  const isOfRunner = store !== null && typeof store === 'object' && ('test' in store || 'hook' in store);
  if (!isOfRunner) return run.call(this, store, callback, ...given);
  const before = this[running];
  this[running] = store;
  const result = callback(...given);
  void Promise.resolve(result)
    .catch(() => undefined)
    .then(() => (this[running] = before));
  return result;
};
AsyncLocalStorage.prototype.getStore = function () {
  return this[running] ?? getStore.call(this);
};

// The output of transform.mjs for product code and packages calls this.
globalThis.requireNatively = createRequire(import.meta.url);
process.setSourceMapsEnabled(true);
Error.stackTraceLimit = 100;

export default class SharedRealm extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    ownContexts.add(this.context);
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: config.projectConfig, global: globalThis });
    this.testPath = context.testPath;
    this.directory = process.env.TEST_TIMING_DIRECTORY;
  }

  async setup() {
    await super.setup();
    this.started = { cpu: cpuSeconds(), wall: performance.now() };
    this.variables = { ...process.env };
  }

  async teardown() {
    this.moduleMocker.restoreAllMocks();
    // Otherwise the next file's events also go to the handlers of this one.
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    globalThis.console = realConsole;
    // Restores the environment variables that a file set. The object itself must stay, because Node.js uses it.
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
    await super.teardown();
    if (this.directory) this.recordTiming();
  }

  recordTiming() {
    const cpu = cpuSeconds() - this.started.cpu;
    const wall = (performance.now() - this.started.wall) / 1000;
    const name = this.testPath.replaceAll('/', '_');
    writeFileSync(join(this.directory, `${name}.json`), JSON.stringify({ path: this.testPath, cpu, wall }));
  }
}

/** CPU seconds of this process and its ended children: fields 14 to 17 of proc_pid_stat(5), in hundredths. */
function cpuSeconds() {
  let stat;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}
