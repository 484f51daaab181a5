import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import {
  ALGORITHMS,
  areSame,
  cosignedText,
  fromBase64,
  HASH,
  isKeyOf,
  isSignedBy,
  verifierKeyOf,
  NotAuthentic,
  type Note,
  parseVerifierKey,
  readNote,
  type VerifierKey,
  wholeNumber,
} from '#libs/verify';
import { claimsOf, contradictionOf, isAhead, isConsistent, type TreeHead } from '../consistency.js';
import { type WitnessState } from './state.js';

/** A witness's response, by HTTP status (C2SP tlog-witness). */
export type Answer = { status: 200 | 400 | 403 | 404 | 409 | 422; type: string; body: string };

/** The longest proof for any two trees. */
const MOST_HASHES = 63;
/** The PKCS #8 encoding of an Ed25519 private key without its 32 bytes (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX_LENGTH = 12;
const SEED = 32;

/** A witness's key, stored as `PRIVATE+KEY+<name>+<key id>+<base64 of the algorithm byte and the seed>`. */
export class WitnessKey {
  private readonly privateKey: KeyObject;
  private readonly publicBytes: Buffer;
  private readonly id: Buffer;

  private constructor(
    readonly name: string,
    private readonly seed: Buffer,
  ) {
    const key = Buffer.concat([PKCS8_PREFIX, seed]);
    this.privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    const spki = createPublicKey(this.privateKey).export({ format: 'der', type: 'spki' });
    this.publicBytes = Buffer.concat([Buffer.of(ALGORITHMS.cosignature), spki.subarray(SPKI_PREFIX_LENGTH)]);
    this.id = Buffer.from(verifierKeyOf(name, this.publicBytes).id);
  }

  /** @throws NotAuthentic if the name is not allowed in notes. */
  static make(name: string): WitnessKey {
    if (!/^[^+\s]+$/.test(name))
      throw new NotAuthentic('The name of a witness must not contain spaces or "+".');
    return new WitnessKey(name, randomBytes(SEED));
  }

  /** @throws NotAuthentic */
  static read(text: string): WitnessKey {
    const [, name, id, encoded] = /^PRIVATE\+KEY\+([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
    const bytes = encoded === undefined ? undefined : fromBase64(encoded);
    if (!name || bytes?.length !== SEED + 1 || bytes[0] !== ALGORITHMS.cosignature) {
      throw new NotAuthentic('This is not the key of a witness. Use the line that begins with PRIVATE+KEY+.');
    }
    const key = new WitnessKey(name, Buffer.from(bytes.subarray(1)));
    if (key.id.toString('hex') !== id)
      throw new NotAuthentic('The key of the witness is inconsistent. Copy it again completely.');
    return key;
  }

  get text(): string {
    const bytes = Buffer.concat([Buffer.of(ALGORITHMS.cosignature), this.seed]);
    return `PRIVATE+KEY+${this.name}+${this.id.toString('hex')}+${bytes.toString('base64')}\n`;
  }

  /** The key that verifies its cosignatures. */
  get verifierKey(): string {
    return `${this.name}+${this.id.toString('hex')}+${this.publicBytes.toString('base64')}`;
  }

  /** Returns a signature line for the note. @param seconds since 1970. */
  cosign(text: string, seconds: number): string {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(seconds));
    const signature = sign(null, Buffer.from(cosignedText(text, seconds)), this.privateKey);
    return `— ${this.name} ${Buffer.concat([this.id, time, signature]).toString('base64')}\n`;
  }
}

/**
 * Cosigns checkpoints that are consistent with all earlier ones of the same log. So a log cannot show two
 * histories to those who require its cosignature. The content of the leaves does not matter. It also cosigns no checkpoint
 * whose position or time contradicts the last one's.
 */
export class Witness {
  private readonly logs: readonly VerifierKey[];
  /**
   * Handles one request per log at a time, so that the stored checkpoint does not change during a comparison.
   */
  private readonly turns = new Map<string, Promise<unknown>>();

  /** @param verifierKeys of the logs. These keys cannot cosign. */
  constructor(
    private readonly key: WitnessKey,
    private readonly state: WitnessState,
    verifierKeys: readonly string[],
    private readonly now: () => number = Date.now,
  ) {
    this.logs = verifierKeys.map((text) => parseVerifierKey(text));
  }

  async add(body: string): Promise<Answer> {
    const request = parse(body);
    if (typeof request === 'string') return refusal(400, request);
    const { origin } = request;
    const keys = this.logs.filter((key) => isKeyOf(key, origin));
    if (keys.length === 0) return refusal(404, `The log ${origin} is unknown to this witness.`);
    const signature = await signedBy(request.note, keys);
    if (signature !== true) return refusal(403, signature);

    const before = this.turns.get(origin);
    const turn = (async () => {
      await before?.catch(() => undefined);
      return this.compare(request);
    })();
    this.turns.set(origin, turn);
    try {
      return await turn;
    } finally {
      if (this.turns.get(origin) === turn) this.turns.delete(origin);
    }
  }

  private async compare({ origin, old, proof, head, note, text }: Request): Promise<Answer> {
    if (old > head.size) return refusal(400, 'The old size is larger than the checkpoint.');
    const seen = (await this.state.read(origin)) ?? { size: 0, root: new Uint8Array(), text: '' };
    if (old !== seen.size) return conflict(seen);
    if (head.size === seen.size && !areSame(head.root, seen.root)) {
      await this.state.keepEvidence(origin, [seen.text, text]);
      return conflict(seen);
    }
    if (!isConsistent(seen, head, proof)) {
      return refusal(422, `The proof does not lead from ${seen.size} to ${head.size} events.`);
    }
    const [before, now] = [claimsOf(seen.text), claimsOf(text)];
    if (!now && origin.startsWith('advocacy-api/'))
      return refusal(
        400,
        'The checkpoint has no valid position and time, which the next one must not contradict.',
      );
    // The cosignature states when this witness saw the note, so only a time in the future could mislead.
    if (now && isAhead(now, this.now()))
      return refusal(400, `The server dates the checkpoint in the future: ${now.sealedAt}. Set the clocks.`);
    const contradiction = before && now && contradictionOf(before, now);
    if (contradiction !== undefined) {
      await this.state.keepEvidence(origin, [seen.text, text]);
      return refusal(422, `The log contradicts what it has signed before: ${contradiction}.`);
    }
    // Stored on disk before anyone can see the cosignature: a witness must not forget.
    if (head.size !== seen.size) await this.state.write(origin, text);
    const line = this.key.cosign(note.text, Math.floor(this.now() / 1_000));
    return { status: 200, type: 'text/plain; charset=utf-8', body: line };
  }
}

type Request = { old: number; proof: Uint8Array[]; text: string; note: Note; origin: string; head: TreeHead };

/** @returns what is wrong with it if it is not a valid request. */
function parse(body: string): Request | string {
  const end = body.indexOf('\n\n');
  if (end < 0) return 'The empty line before the checkpoint is missing.';
  const [first = '', ...hashes] = body.slice(0, end).split('\n');
  const old = wholeNumber(/^old (\S+)$/.exec(first)?.[1]);
  if (old === undefined) return 'The first line must be "old <size>".';
  if (hashes.length > MOST_HASHES) return `A proof can have up to ${MOST_HASHES} hashes.`;
  const proof = hashes.map((line) => fromBase64(line) ?? new Uint8Array());
  if (!proof.every((hash) => hash?.length === HASH)) return 'A line of the proof is not a base64 hash.';
  const text = body.slice(end + 2);
  try {
    const note = readNote(text);
    const [origin = '', size, root] = note.text.split('\n');
    const head = { size: wholeNumber(size), root: fromBase64(root ?? '') };
    // Without leaves, there is nothing to cosign, and nothing that another checkpoint could contradict.
    if (origin === '' || !head.size || head.root?.length !== 32) {
      return 'The checkpoint must begin with an origin, a size above 0 and a root.';
    }
    return { old, proof, text, note, origin, head: { size: head.size, root: head.root } };
  } catch (error) {
    if (error instanceof NotAuthentic) return error.message;
    throw error;
  }
}

async function signedBy(note: Note, keys: readonly VerifierKey[]): Promise<true | string> {
  try {
    for (const key of keys) if (await isSignedBy(note, key)) return true;
    return 'The checkpoint is not signed by a key known to this witness.';
  } catch (error) {
    if (error instanceof NotAuthentic) return error.message;
    throw error;
  }
}

function refusal(status: 400 | 403 | 404 | 422, sentence: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${sentence}\n` };
}

/** Returns the stored size, for which the log then creates the right proof. */
function conflict({ size }: TreeHead): Answer {
  return { status: 409, type: 'text/x.tlog.size', body: `${size}\n` };
}
