const REGISTRY = Symbol.for('kills at exit');
const shared = globalThis as { [REGISTRY]?: Set<() => void> };

/** One listener per process: test code is loaded again for each file, and Node.js warns of more than ten listeners. */
function register(): Set<() => void> {
  const kills = new Set<() => void>();
  process.once('exit', () => kills.forEach((kill) => kill()));
  return kills;
}

/** Calls `kill` when this process exits, so that no program outlives the tests that started it. @returns a function that undoes this. */
export function killAtExit(kill: () => void): () => void {
  const kills = (shared[REGISTRY] ??= register());
  kills.add(kill);
  return () => void kills.delete(kill);
}
