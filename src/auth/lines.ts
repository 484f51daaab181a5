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
 * The live keys that end when a key is revoked: all that it made, or one of the keys that it replaced, or one of
 * these in turn. A key that was replaced has handed them over to its successor. A line has several makers where
 * another key rotated it, because that one was given the new secret.
 */
export function descendantsOf(keys: readonly KeyOrigin[], apiKeyId: string): string[] {
  const byId = new Map(keys.map((key) => [key.id, key]));
  const revoked = byId.get(apiKeyId);
  if (revoked?.successorId !== null) return [];

  const linesMadeBy = new Map<string, Set<string>>();
  for (const { makerId, lineId } of keys) {
    const makerLine = makerId === null ? undefined : byId.get(makerId)?.lineId;
    if (makerLine === undefined) continue;
    if (!linesMadeBy.has(makerLine)) linesMadeBy.set(makerLine, new Set());
    linesMadeBy.get(makerLine)!.add(lineId);
  }
  const ending = new Set([revoked.lineId]);
  // A set goes on over what is added meanwhile.
  for (const line of ending) for (const made of linesMadeBy.get(line) ?? []) ending.add(made);
  ending.delete(revoked.lineId);
  return keys.filter(({ lineId, isLive }) => isLive && ending.has(lineId)).map(({ id }) => id);
}

/** Whether a key may go on making keys: it lives, and so does what replaced it, with which they would end. */
export function mayMakeKeys(keys: readonly KeyOrigin[], apiKeyId: string): boolean {
  const own = keys.find(({ id }) => id === apiKeyId);
  const last = keys.find(({ lineId, successorId }) => lineId === own?.lineId && successorId === null);
  return own?.isLive === true && last?.isLive === true;
}
