/** Returns an integer from 0 up to, but not including, the given one. */
export type Random = (below: number) => number;

/** Random numbers that are reproducible by seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export function pick<One>(random: Random, from: readonly One[]): One {
  return from[random(from.length)]!;
}
