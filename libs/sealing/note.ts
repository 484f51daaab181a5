import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto';

/** The name before signatures and in the verifier key (C2SP signed-note). */
const KEY_NAME = 'advocacy-api';
/** Algorithm byte of Ed25519 in key identifiers and verifier keys (C2SP signed-note). */
const ED25519 = Buffer.of(1);
/** PKCS #8 of an Ed25519 private key up to its 32 bytes (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
/** SubjectPublicKeyInfo of an Ed25519 public key up to its 32 bytes. */
const SPKI_PREFIX_LENGTH = 12;

/** What a checkpoint says: the history of one organization up to a position, as a tree. */
export type SealedTree = {
  organizationId: string;
  /** Events in the tree. */
  size: number;
  root: Buffer;
  /** No event of the organization at or below it is missing from the tree. */
  position: number;
  sealedAt: Date;
  /** Complete subtrees, from the left: they tell which part of a rewritten history differs. */
  parts: readonly Part[];
};

export type Part = { firstPosition: number; lastPosition: number; leaves: number; hash: Buffer };

/** Signs checkpoints. The key is Ed25519; what verifies them is `verifierKey`. */
export class Signer {
  private readonly privateKey: KeyObject;
  private readonly publicKey: Buffer;

  /** @param seed 32 bytes. */
  constructor(seed: Buffer) {
    this.privateKey = createPrivateKey({
      key: Buffer.concat([PKCS8_PREFIX, seed]),
      format: 'der',
      type: 'pkcs8',
    });
    const spki = createPublicKey(this.privateKey).export({ format: 'der', type: 'spki' });
    this.publicKey = spki.subarray(SPKI_PREFIX_LENGTH);
  }

  /** The signer whose key follows from the master key (HKDF, RFC 5869), for whoever sets no other. */
  static derivedFrom(master: Buffer): Signer {
    return new Signer(Buffer.from(hkdfSync('sha256', master, '', 'checkpoint signatures', 32)));
  }

  /** `<name>+<key id>+<base64>` (C2SP signed-note): public, and all that a verifier needs. */
  get verifierKey(): string {
    const key = Buffer.concat([ED25519, this.publicKey]).toString('base64');
    return `${KEY_NAME}+${this.keyId.toString('hex')}+${key}`;
  }

  /** The checkpoint as a signed note (C2SP tlog-checkpoint), with extension lines: ARCHITECTURE.md, "Checkpoint". */
  signCheckpoint({ organizationId, size, root, position, sealedAt, parts }: SealedTree): string {
    const text = [
      `advocacy-api/${organizationId}`,
      String(size),
      root.toString('base64'),
      `position ${position}`,
      `sealed ${sealedAt.toISOString()}`,
      ...parts.map(
        ({ firstPosition, lastPosition, leaves, hash }) =>
          `part ${firstPosition} ${lastPosition} ${leaves} ${hash.toString('base64')}`,
      ),
      '',
    ].join('\n');
    const signature = sign(null, Buffer.from(text), this.privateKey);
    const line = Buffer.concat([this.keyId, signature]).toString('base64');
    return `${text}\n— ${KEY_NAME} ${line}\n`;
  }

  private get keyId(): Buffer {
    return createHash('sha256')
      .update(`${KEY_NAME}\n`)
      .update(ED25519)
      .update(this.publicKey)
      .digest()
      .subarray(0, 4);
  }
}
