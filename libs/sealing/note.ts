/**
 * In the place of an organization: the log that has a leaf for each checkpoint of each. It is stored, signed and mended as
 * histories are; its positions are the numbers of its leaves, from 1 on.
 */
export const ALL_ORGANIZATIONS = '00000000-0000-0000-0000-000000000000';
const ALL_NAME = 'all';

/** An id as origins, addresses and operators have it. */
export function logNameOf(organizationId: string): string {
  return organizationId === ALL_ORGANIZATIONS ? ALL_NAME : organizationId;
}

/** The id of what {@link logNameOf} names. */
export function logIdOf(name: string): string {
  return name === ALL_NAME ? ALL_ORGANIZATIONS : name;
}

/** What a checkpoint says: the history of one organization up to a position, as a tree. */
export type SealedTree = {
  organizationId: string;
  /** Events in the tree. */
  size: number;
  root: Buffer;
  /** No event of the organization at or below it is missing from the tree. */
  position: number;
  sealedAt: Date;
};

/** A signed note (C2SP signed-note): its text, with the last line feed, and what stands below it. */
export type Note = { text: string; signatures: Signature[] };
export type Signature = { name: string; keyId: Buffer; bytes: Buffer };

const KEY_ID = 4;

/** The first line of an organization's checkpoints, and the name of the key that verifies no others. */
export function originOf(organizationId: string): string {
  return `advocacy-api/${logNameOf(organizationId)}`;
}

/** The text that is signed (C2SP tlog-checkpoint), with two extension lines: docs/spec/audit-log.md, "Checkpoint". */
export function textOf({ organizationId, size, root, position, sealedAt }: SealedTree): string {
  return [
    originOf(organizationId),
    String(size),
    root.toString('base64'),
    `position ${position}`,
    `sealed ${sealedAt.toISOString()}`,
    '',
  ].join('\n');
}

/** Reads what {@link textOf} writes; undefined for any other text. */
export function treeOf(text: string): SealedTree | undefined {
  const [, name, size, root, position, sealed] =
    /^advocacy-api\/(\S+)\n(\d{1,16})\n(\S{44})\nposition (\d{1,16})\nsealed (\S{24})\n$/.exec(text) ?? [];
  const sealedAt = new Date(sealed ?? NaN);
  if (name === undefined || Number.isNaN(sealedAt.getTime())) return undefined;
  const tree = {
    organizationId: logIdOf(name),
    size: Number(size),
    root: Buffer.from(root!, 'base64'),
    position: Number(position),
    sealedAt,
  };
  return textOf(tree) === text ? tree : undefined;
}

export function writeNote({ text, signatures }: Note): string {
  const lines = signatures.map(
    ({ name, keyId, bytes }) => `— ${name} ${Buffer.concat([keyId, bytes]).toString('base64')}\n`,
  );
  return `${text}\n${lines.join('')}`;
}

/** Reads what {@link writeNote} writes; undefined for any other text. */
export function readNote(note: string): Note | undefined {
  const end = note.lastIndexOf('\n\n') + 1;
  if (end === 0) return undefined;
  const text = note.slice(0, end);
  const signatures = [...note.slice(end).matchAll(/^— (\S+) (\S+)$/gm)].map(([, name, encoded]) => {
    const bytes = Buffer.from(encoded!, 'base64');
    return { name: name!, keyId: bytes.subarray(0, KEY_ID), bytes: bytes.subarray(KEY_ID) };
  });
  const read = { text, signatures };
  return writeNote(read) === note ? read : undefined;
}
