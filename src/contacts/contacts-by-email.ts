import { Injectable } from '@nestjs/common';
import { Commands, RecordReader } from '#libs/commands';
import { type Guard } from '#libs/event-store';
import { type Input } from '#libs/rpc';
import { emailKeys } from './contact-write.js';
import { contact, hasEmail, type StandingContact } from './contact.js';

/** Contacts as holders of an address, for decisions that rest on them. */
@Injectable()
export class ContactsByEmail {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
  ) {}

  /**
   * The contact that holds a key of this address; undefined if it has another one by now, or is no more: then the
   * key is free. An instance of version 0.1.0 leaves behind the form that it does not know.
   */
  async find(
    input: Input,
    contactId: string,
    email: string,
  ): Promise<{ state: StandingContact; version: number } | undefined> {
    const { state, version } = await this.records.load(contact, input.organizationId, contactId);
    if (hasEmail(state, email)) return { state, version };
    await this.commands.release(input, { streamId: contactId, version }, emailKeys(email));
    return undefined;
  }

  /** What must stay as it is for `find` to find the contact; undefined where it does not. */
  async hold(input: Input, contactId: string, email: string): Promise<Guard | undefined> {
    const found = await this.find(input, contactId, email);
    return found && { streamId: contactId, version: found.version };
  }
}
