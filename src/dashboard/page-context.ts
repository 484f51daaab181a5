import { type Type } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { FLASH, flashIn, type Html, type Page } from '#libs/pages';
import { allowLongBody, openStream } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { Address } from './address.js';
import { Api } from './api.js';
import { pageOf } from './document.js';
import { FormInput } from './form-input.js';
import { type Member, type People } from './people.js';
import { type ScriptName } from './scripts.js';
import { type Section } from './sections.js';
import { readUpload } from './upload.js';

export { type Address, type Api, type FormInput };

/** What a page may use. Pages and their parts take only the members that they need. */
export type PageContext = {
  words: DashboardWords;
  /** Who visits the page, and what they may do. */
  person: Member;
  address: Address;
  form: FormInput;
  /** Reads and commands. */
  api: Api;
  view: View;
};

type Options = {
  words: DashboardWords;
  person: Member;
  people: People;
  request: Request;
  response: Response;
  params: Readonly<Record<string, string>>;
  form: URLSearchParams;
  find: <T>(type: Type<T>) => T;
  /** @throws RpcError if the person may no longer use the page. */
  requireStill: () => Promise<void>;
};

export function contextOf(options: Options): PageContext {
  const { words, person, request, response, requireStill } = options;
  const address = new Address(request, person.organization.id, options.params);
  const form = new FormInput(words, options.form, async () => {
    openStream(request, response);
    allowLongBody(request, response);
    const { fields, file } = await readUpload(request);
    return { fields, file: file && { ...file, bytes: stillWith(file.bytes, requireStill) } };
  });
  const api = new Api({ ...options, form });
  return { words, person, address, form, api, view: new View(person, address, form) };
}

/** Checks permissions again at the end of the file, because an upload can take any time. */
async function* stillWith(
  bytes: AsyncIterable<Uint8Array>,
  requireStill: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  yield* bytes;
  await requireStill();
}

class View {
  /** Reload interval while something is in progress, for browsers without scripts. */
  refreshSeconds: number | undefined;

  constructor(
    private readonly person: Member,
    private readonly address: Address,
    private readonly form: FormInput,
  ) {}

  /** The page, with a confirmation or errors. */
  page(options: {
    title: string;
    /** The heading, if it differs from the title. */
    heading?: string;
    content: Html;
    section?: Section;
    back?: { href: string; text: string };
    scripts?: readonly ScriptName[];
    status?: number;
  }): Page {
    const { person, address, refreshSeconds } = this;
    const { words, refusal } = this.form;
    const { title, status = refusal?.status } = options;
    return pageOf({
      ...options,
      words,
      person,
      title: refusal ? `${words.faults.prefix}${title}` : title,
      heading: options.heading ?? title,
      ...(status === undefined ? {} : { status }),
      done: refusal ? undefined : flashIn(words, address.query(FLASH)),
      refreshSeconds,
    });
  }
}
