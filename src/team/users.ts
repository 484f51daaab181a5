import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { EventStore } from '#libs/event-store';
import { comparableEmail } from '#libs/rpc';

/** The people of all organizations, by their addresses: of an address only its keyed hash is kept here. */
@Injectable()
export class Users {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {}

  /** The person with this address; undefined where nobody has invited them yet. */
  async find(email: string): Promise<string | undefined> {
    const rows = await this.source.query<{ id: string }[]>('SELECT id FROM users WHERE mailbox = $1', [
      this.mailboxOf(email),
    ]);
    return rows[0]?.id;
  }

  /** The same, made where there is none. */
  async findOrMake(email: string): Promise<string> {
    const found = await this.find(email);
    if (found !== undefined) return found;
    const [row] = await this.source.query<{ id: string }[]>(
      `INSERT INTO users (id, mailbox) VALUES ($1, $2)
       ON CONFLICT (mailbox) DO UPDATE SET mailbox = excluded.mailbox RETURNING id`,
      // It tells no organization since when the others know somebody.
      [randomUUID(), this.mailboxOf(email)],
    );
    return row!.id;
  }

  /** Of an address, for whoever counts by it: nobody reads it in there. */
  nameOf(email: string): string {
    return this.mailboxOf(email).toString('base64url');
  }

  private mailboxOf(email: string): Buffer {
    return this.store.keyring.hash('user', comparableEmail(email));
  }
}
