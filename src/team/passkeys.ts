import { type AuthenticationResponseJSON, type RegistrationResponseJSON } from '@simplewebauthn/server';
import { Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { DataSource } from 'typeorm';
import { EventStore } from '#libs/event-store';
import { newId, randomBytes } from '#libs/random';

/** Minutes to answer a challenge, from opening the page to touching the device. */
const CHALLENGE_MINUTES = 15;
/** Passkeys per person. No one needs more. */
const MAX_PASSKEYS = 20;
/** Bytes of a challenge: its random part, its expiry time and its MAC. */
const [NONCE, EXPIRY, MAC] = [16, 8, 16] as const;

/** A passkey is bound to these: the dashboard's domain, and the origin of its pages. */
export type RelyingParty = { id: string; origin: string };

export type ListedPasskey = { id: string; name: string; madeAt: Date; usedAt: Date | null };

type Row = {
  credential_id: Buffer;
  user_id: string;
  public_key: Buffer;
  counter: string;
  transports: string[];
};

/**
 * Passkeys, with which users sign in without an email (WebAuthn). The device finds them itself, so no one
 * enters a name and no one can learn who has an account. The device requires a fingerprint or PIN (user
 * verification), because there is no other factor.
 *
 * Challenges are signed, not stored: any instance accepts another's, and opening a page stores nothing.
 * Answered challenges are stored, so that each is accepted once.
 */
@Injectable()
export class Passkeys {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {}

  /** The options for registering a new passkey. @param name the name the device shows for it. */
  async registration({ id: rpID }: RelyingParty, userId: string, name: string): Promise<object> {
    const { generateRegistrationOptions } = await import('@simplewebauthn/server');
    const known = await this.source.query<Pick<Row, 'credential_id' | 'transports'>[]>(
      'SELECT credential_id, transports FROM passkeys WHERE user_id = $1',
      [userId],
    );
    return generateRegistrationOptions({
      rpName: rpID,
      rpID,
      userName: name,
      // The email address would not do, because it may change.
      userID: handleOf(userId),
      challenge: this.newChallenge(`add ${userId}`),
      attestationType: 'none',
      excludeCredentials: known.map(({ credential_id, transports }) => ({
        id: credential_id.toString('base64url'),
        transports: transports as never,
      })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
  }

  /** Stores a new passkey. @returns false if the response does not answer a valid challenge. */
  async add({ id, origin }: RelyingParty, userId: string, response: unknown, name: string): Promise<boolean> {
    if (!isResponse(response)) return false;
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyRegistrationResponse({
      response: response as unknown as RegistrationResponseJSON,
      expectedChallenge: (challenge) => this.take(challenge, `add ${userId}`),
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
    }).catch(() => undefined);
    if (!verified?.verified || !verified.registrationInfo) return false;
    const { credential } = verified.registrationInfo;
    return this.source.transaction(async (transaction) => {
      // Concurrent requests are counted one after another.
      await transaction.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [userId]);
      const rows = await transaction.query<unknown[]>(
        `INSERT INTO passkeys (credential_id, id, user_id, public_key, counter, transports, name)
         SELECT $1, $2, $3, $4, $5, $6, $7
         WHERE (SELECT count(*) FROM passkeys WHERE user_id = $3) < $8
         ON CONFLICT (credential_id) DO NOTHING RETURNING id`,
        [
          Buffer.from(credential.id, 'base64url'),
          newId(),
          userId,
          Buffer.from(credential.publicKey),
          credential.counter,
          credential.transports ?? [],
          name,
          MAX_PASSKEYS,
        ],
      );
      return rows.length > 0;
    });
  }

  /** The options for signing in. */
  async authentication({ id: rpID }: RelyingParty): Promise<object> {
    const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
    return generateAuthenticationOptions({
      rpID,
      challenge: this.newChallenge('sign in'),
      userVerification: 'required',
    });
  }

  /** The user who answered the challenge; undefined if the answer is invalid or the passkey unknown. */
  async signIn({ id, origin }: RelyingParty, response: unknown): Promise<string | undefined> {
    if (!isResponse(response)) return undefined;
    const [row] = await this.source.query<Row[]>('SELECT * FROM passkeys WHERE credential_id = $1', [
      Buffer.from(response.id, 'base64url'),
    ]);
    if (!row || !isOf(response, row.user_id)) return undefined;
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyAuthenticationResponse({
      response: response as unknown as AuthenticationResponseJSON,
      expectedChallenge: (challenge) => this.take(challenge, 'sign in'),
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: response.id,
        publicKey: new Uint8Array(row.public_key),
        counter: Number(row.counter),
      },
    }).catch(() => undefined);
    if (!verified?.verified) return undefined;
    await this.source.query(
      'UPDATE passkeys SET counter = greatest(counter, $2), used_at = clock_timestamp() WHERE credential_id = $1',
      [row.credential_id, verified.authenticationInfo.newCounter],
    );
    return row.user_id;
  }

  async list(userId: string): Promise<ListedPasskey[]> {
    const rows = await this.source.query<{ id: string; name: string; made_at: Date; used_at: Date | null }[]>(
      'SELECT id, name, made_at, used_at FROM passkeys WHERE user_id = $1 ORDER BY made_at',
      [userId],
    );
    return rows.map(({ id, name, made_at, used_at }) => ({ id, name, madeAt: made_at, usedAt: used_at }));
  }

  async remove(userId: string, id: string): Promise<void> {
    await this.source.query('DELETE FROM passkeys WHERE user_id = $1 AND id::text = $2', [userId, id]);
  }

  private newChallenge(purpose: string): Uint8Array<ArrayBuffer> {
    const expiry = Buffer.alloc(EXPIRY);
    expiry.writeBigInt64BE(BigInt(Date.now() + CHALLENGE_MINUTES * 60_000));
    const body = Buffer.concat([randomBytes(NONCE), expiry]);
    return new Uint8Array(Buffer.concat([body, this.macOf(purpose, body)]));
  }

  private macOf(purpose: string, body: Buffer): Buffer {
    return this.store.keyring.hash('passkey challenge', purpose, body.toString('hex')).subarray(0, MAC);
  }

  /**
   * Whether a challenge was issued here for this purpose, has not expired and is answered for the first time.
   */
  private async take(challenge: string, purpose: string): Promise<boolean> {
    const bytes = Buffer.from(challenge, 'base64url');
    if (bytes.length !== NONCE + EXPIRY + MAC) return false;
    const [body, mac] = [bytes.subarray(0, NONCE + EXPIRY), bytes.subarray(NONCE + EXPIRY)];
    if (!timingSafeEqual(mac, this.macOf(purpose, body))) return false;
    const expiresAt = Number(body.readBigInt64BE(NONCE));
    if (expiresAt < Date.now()) return false;
    await this.source.query('DELETE FROM passkey_challenges WHERE expires_at < clock_timestamp()');
    const rows = await this.source.query<unknown[]>(
      'INSERT INTO passkey_challenges (challenge, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1',
      [bytes, new Date(expiresAt + 60_000)],
    );
    return rows.length > 0;
  }
}

/** The id of the user as stored on the device. */
function handleOf(userId: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(userId.replaceAll('-', ''), 'hex'));
}

/** WebAuthn 7.2, step 6: the device returns the user it belongs to. */
function isOf(response: unknown, userId: string): boolean {
  const { response: inner } = response as { response?: { userHandle?: unknown } };
  const handle = inner?.userHandle;
  return typeof handle === 'string' && Buffer.from(handle, 'base64url').equals(handleOf(userId));
}

function isResponse(response: unknown): response is { id: string } {
  return (
    typeof response === 'object' && response !== null && typeof (response as { id?: unknown }).id === 'string'
  );
}
