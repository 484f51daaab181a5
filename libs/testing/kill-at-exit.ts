const REGISTRY = Symbol.for('kills at exit');
const shared = globalThis as { [REGISTRY]?: Set<() => void> };

/** One listener per process. Node.js warns about more than ten, and this module is loaded again for each test file. */
function register(): Set<() => void> {
  const kills = new Set<() => void>();
  process.once('exit', () => kills.forEach((kill) => kill()));
  return kills;
}

/** Calls `kill` when this process exits, so that no program outlives its tests. @returns a function that cancels this */
export function killAtExit(kill: () => void): () => void {
  const kills = (shared[REGISTRY] ??= register());
  kills.add(kill);
  return () => void kills.delete(kill);
}
