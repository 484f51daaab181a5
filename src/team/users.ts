import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { EventStore } from '#libs/event-store';
import { comparableEmail } from '#libs/rpc';

/** The users of all organizations, by email address. Only a keyed hash of each address is stored here. */
@Injectable()
export class Users {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {}

  /** The user with this address; undefined if they were never invited. */
  async find(email: string): Promise<string | undefined> {
    const rows = await this.source.query<{ id: string }[]>('SELECT id FROM users WHERE mailbox = $1', [
      this.mailboxOf(email),
    ]);
    return rows[0]?.id;
  }

  /** Like `find`, but creates the user if necessary. */
  async findOrMake(email: string): Promise<string> {
    const found = await this.find(email);
    if (found !== undefined) return found;
    const [row] = await this.source.query<{ id: string }[]>(
      `INSERT INTO users (id, mailbox) VALUES ($1, $2)
       ON CONFLICT (mailbox) DO UPDATE SET mailbox = excluded.mailbox RETURNING id`,
      // A random id: an id with a time would show an organization when another one first invited the user.
      [randomUUID(), this.mailboxOf(email)],
    );
    return row!.id;
  }

  /** A pseudonym of an address, for counters. */
  nameOf(email: string): string {
    return this.mailboxOf(email).toString('base64url');
  }

  private mailboxOf(email: string): Buffer {
    return this.store.keyring.hash('user', comparableEmail(email));
  }
}
