/**
 * Used like an organization's id: the log with a leaf for each checkpoint of each organization. It is stored,
 * signed and repaired like a history. Its positions are the numbers of its leaves, starting at 1.
 */
export const ALL_ORGANIZATIONS = '00000000-0000-0000-0000-000000000000';
const ALL_NAME = 'all';
/**
 * A reserved organization, whose history registers the checkpoints of all others. Otherwise it is like any
 * organization: src/history/register.ts.
 */
export const REGISTER = '00000000-0000-0000-0000-000000000001';

/** The id as it appears in origins, URLs and messages. */
export function logNameOf(organizationId: string): string {
  return organizationId === ALL_ORGANIZATIONS ? ALL_NAME : organizationId;
}

/** The id for a name returned by {@link logNameOf}. */
export function logIdOf(name: string): string {
  return name === ALL_NAME ? ALL_ORGANIZATIONS : name;
}

/** The content of a checkpoint: the history of one organization up to a position, as a tree. */
export type SealedTree = {
  organizationId: string;
  /** The number of events in the tree. */
  size: number;
  root: Buffer;
  /** Every event of the organization up to this position is in the tree. */
  position: number;
  sealedAt: Date;
};

/** A signed note (C2SP signed-note): its text including the last line feed, and the signatures below it. */
export type Note = { text: string; signatures: Signature[] };
export type Signature = { name: string; keyId: Buffer; bytes: Buffer };

const KEY_ID = 4;

/** The first line of an organization's checkpoints. It is also the name of the key that verifies only these. */
export function originOf(organizationId: string): string {
  return `advocacy-api/${logNameOf(organizationId)}`;
}

/** The signed text (C2SP tlog-checkpoint), with two extension lines: docs/spec/history-format.md, "Checkpoint". */
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

/** Parses the result of {@link textOf}. Undefined for any other text. */
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

/** Parses the result of {@link writeNote}. Undefined for any other text. */
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
