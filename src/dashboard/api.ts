import { type Type } from '@nestjs/common';
import { type Request } from 'express';
import { Requests } from '#libs/commands';
import { RpcError, type StreamedBody } from '#libs/rpc';
import { type FormInput } from './form-input.js';
import { type Member, type People } from './people.js';

type Options = {
  person: Member;
  people: People;
  request: Request;
  form: FormInput;
  find: <T>(type: Type<T>) => T;
};

/** Runs the API's operations as the person who visits a page. */
export class Api {
  private runs = 0;
  private readonly unfinished: Promise<unknown>[] = [];

  constructor(private readonly options: Options) {}

  get organizationId(): string {
    return this.options.person.organization.id;
  }

  /** Whether the browser no longer waits for the page. */
  get isGivenUp(): boolean {
    return this.options.request.isGivenUp === true;
  }

  /** A provider of another module, for data that no operation returns. */
  find<T>(type: Type<T>): T {
    return this.options.find(type);
  }

  /**
   * Runs an operation and returns its result. A form that is sent twice is executed once.
   *
   * @param fields the operation's input: strings for queries, JSON for commands. Undefined fields are left out.
   * @throws RpcError as the operation does.
   */
  async run<Answer>(
    name: string,
    fields: Record<string, unknown> = {},
    body?: StreamedBody,
  ): Promise<Answer> {
    const { people, person, request } = this.options;
    const { beforeAnswer } = this;
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const idempotencyKey = this.markOf(name, (this.runs += 1));
    try {
      return await people.run<Answer>(name, person, given, { request, idempotencyKey, body, beforeAnswer });
    } catch (error) {
      // The person went back and changed the form, so it counts as a new one.
      if (!(error instanceof RpcError) || error.code !== 'IDEMPOTENCY_KEY_REUSED') throw error;
      return people.run<Answer>(name, person, given, { request, body, beforeAnswer });
    }
  }

  /** The record that the form created when it was sent before. @param name the first operation that the form runs */
  async madeBefore(name: string): Promise<string | undefined> {
    const mark = this.markOf(name, 1);
    return mark && (await this.find(Requests).findRecord(this.organizationId, mark));
  }

  private markOf(name: string, run: number): string | undefined {
    const { form, person } = this.options;
    const once = form.get('once');
    return once === null ? undefined : `form ${person.session.userId} ${once} ${name} ${run}`;
  }

  private readonly beforeAnswer = (work: Promise<unknown>): void => {
    // If the page fails first, nothing awaits this promise.
    work.catch(() => undefined);
    this.unfinished.push(work);
  };

  /** Waits for work that must finish before the page is sent. @throws the errors of that work */
  async finished(): Promise<void> {
    await Promise.all(this.unfinished);
  }
}
