/** The origin of a key. A key and its successors form a line. */
export type KeyOrigin = {
  id: string;
  lineId: string;
  /** The key that created it. */
  makerId: string | null;
  /** The successor that replaced it. */
  successorId: string | null;
  isLive: boolean;
};

/**
 * The live keys that end when a key is revoked: successors it created itself, directly or through such a
 * successor. Otherwise, anyone with a leaked key could rotate it and survive its revocation. A successor that
 * another key created was given to someone else and stays active.
 *
 * If no successor stays active, the keys that the line created, directly or indirectly, also end: a key
 * passes them to its successor when it is rotated. A line has several creators if another key rotated it,
 * because that key received the new secret.
 *
 * @param callerId the revoking key. If it is a successor of the revoked key, its owner ends the old key
 * early, and it stays active.
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

/** Lines with a key that this line created, directly or indirectly. */
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
  // Iterating over a set includes elements added on the way.
  for (const maker of found) for (const made of madeBy.get(maker) ?? []) found.add(made);
  found.delete(line);
  return found;
}

/**
 * Whether a key can create keys: it is live, and so is the end of its line, with which the new keys would
 * end.
 */
export function mayMakeKeys(keys: readonly KeyOrigin[], apiKeyId: string): boolean {
  const own = keys.find(({ id }) => id === apiKeyId);
  const last = keys.find(({ lineId, successorId }) => lineId === own?.lineId && successorId === null);
  return own?.isLive === true && last?.isLive === true;
}
