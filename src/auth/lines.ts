/** Where a key comes from. A key and all that replaced it, one after another, are one line. */
export type KeyOrigin = {
  id: string;
  lineId: string;
  /** The key that made it. */
  makerId: string | null;
  /** The key that replaced it. */
  successorId: string | null;
  isLive: boolean;
};

/**
 * The live keys that end when a key is revoked: its successors that it made itself, or one of these did, because who
 * has a leaked key could otherwise rotate it and outlive it. A successor that another key made was given to somebody
 * else, and goes on.
 *
 * Unless one goes on, also all keys that the line made, or that these made in turn: a key that was replaced has handed
 * them over to its successor. A line has several makers where another key rotated it, because that one was given the
 * new secret.
 *
 * @param callerId the key that revokes: where it is the successor, its owner ends the old one early, and goes on.
 */
export function descendantsOf(
  keys: readonly KeyOrigin[],
  apiKeyId: string,
  callerId: string | null = null,
): string[] {
  const byId = new Map(keys.map((key) => [key.id, key]));
  let last = byId.get(apiKeyId);
  if (!last) return [];
  const { lineId } = last;
  const own = new Set([apiKeyId]);
  while (last.successorId !== null) {
    const successor = byId.get(last.successorId);
    if (!successor?.makerId || !own.has(successor.makerId)) break;
    own.add(successor.id);
    last = successor;
  }
  own.delete(apiKeyId);
  if (callerId !== null && own.has(callerId)) return [];
  const made = last.successorId === null ? linesMadeBy(keys, byId, lineId) : new Set<string>();
  return keys.filter((key) => key.isLive && (own.has(key.id) || made.has(key.lineId))).map(({ id }) => id);
}

/** Lines of which this one made a key, and those of which these did. */
function linesMadeBy(
  keys: readonly KeyOrigin[],
  byId: ReadonlyMap<string, KeyOrigin>,
  line: string,
): Set<string> {
  const madeBy = new Map<string, Set<string>>();
  for (const { makerId, lineId } of keys) {
    const makerLine = makerId === null ? undefined : byId.get(makerId)?.lineId;
    if (makerLine === undefined) continue;
    if (!madeBy.has(makerLine)) madeBy.set(makerLine, new Set());
    madeBy.get(makerLine)!.add(lineId);
  }
  const found = new Set([line]);
  // A set goes on over what is added meanwhile.
  for (const maker of found) for (const made of madeBy.get(maker) ?? []) found.add(made);
  found.delete(line);
  return found;
}

/** Whether a key may go on making keys: it lives, and so does what replaced it, with which they would end. */
export function mayMakeKeys(keys: readonly KeyOrigin[], apiKeyId: string): boolean {
  const own = keys.find(({ id }) => id === apiKeyId);
  const last = keys.find(({ lineId, successorId }) => lineId === own?.lineId && successorId === null);
  return own?.isLive === true && last?.isLive === true;
}
