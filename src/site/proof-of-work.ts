import { Inject, Injectable } from '@nestjs/common';
import { getStorageToken } from '@nestjs/throttler';
import { type Challenge, type Payload } from 'altcha-lib/v1/types';
import { EventStore } from '#libs/event-store';
import { type WindowStorage } from '#libs/rate-limit';

/** Whether a proof of work is required (`CAPTCHA=altcha`). */
export const CAPTCHA = Symbol('captcha');

const HOUR_MS = 3_600_000;
/** Maximum number of attempts, about a second of work on a phone. */
const MAX_NUMBER = 50_000;
/** Longest proof in characters. It contains a number and its challenge. */
const MAX_LENGTH = 2_000;

/**
 * Work that a browser does before it sends a form, which makes sending a million forms expensive. This server serves and checks
 * ALTCHA's challenges itself.
 */
@Injectable()
export class ProofOfWork {
  constructor(
    @Inject(CAPTCHA) readonly isRequired: boolean,
    @Inject(getStorageToken()) private readonly storage: WindowStorage,
    private readonly store: EventStore,
  ) {}

  async challenge(): Promise<Challenge> {
    const { createChallenge } = await import('altcha-lib/v1');
    const expires = new Date(Date.now() + HOUR_MS);
    return createChallenge({ hmacKey: this.key, maxnumber: MAX_NUMBER, expires });
  }

  /** Accepts each proof once. @param text the value in the form. */
  async holds(text: string | null): Promise<boolean> {
    if (!text || text.length > MAX_LENGTH) return false;
    let payload: Payload;
    try {
      payload = JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as Payload;
    } catch {
      return false;
    }
    const { verifySolution } = await import('altcha-lib/v1');
    const isSolved = await verifySolution(payload, this.key).catch(() => false);
    if (!isSolved) return false;
    const [first] = await this.storage.accept([{ key: `proof:${payload.signature}`, limit: 1 }], HOUR_MS);
    return !first!.isBlocked;
  }

  private get key(): string {
    return this.store.keyring.hash('proof of work').toString('hex');
  }
}
