import { Injectable } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { html, languageOf } from '#libs/pages';
import { RateLimitGuard } from '#libs/rate-limit';
import { openStream, RpcError, sendStream, StreamedAnswer } from '#libs/rpc';
import { readForm } from '../site/index.js';
import { isFromHere, isPrivate, readCookie, rememberWanted } from './cookie.js';
import { noticePage, type Page, sendPage } from './document.js';
import { People, type Person } from './people.js';
import { WORDS, type Words, wordsIn } from './words/index.js';

/** What a page answers: itself, a file, or where to go on; `isForWindow`: with the whole window, also where htmx has asked for a part. */
export type Answered = Page | StreamedAnswer | { redirect: string; isForWindow?: boolean };

/** What a page is made of: who asks, in which language, and what they have filled in. */
export type Asked = { words: Words; request: Request; response: Response; form: URLSearchParams };

/** Pages, or things done, of one person a second: more than somebody clicks. */
const PER_SECOND = 30;

/** How every page of the dashboard is answered: forms from elsewhere are refused, and so is what a role may not do. */
@Injectable()
export class Answering {
  constructor(
    private readonly people: People,
    private readonly rateLimit: RateLimitGuard,
  ) {}

  /** A page for everybody. Who asks for many is told to wait: some of them let people in. */
  async open(request: Request, response: Response, make: (asked: Asked) => Promise<Answered>): Promise<void> {
    await this.answer(request, response, async (asked) => {
      if (!isPrivate(request)) return noticePage(asked.words, asked.words.insecure, { status: 403 });
      await this.rateLimit.countAddress(request, response);
      return make(asked);
    });
  }

  /**
   * A page for whoever is signed in.
   *
   * @param options `takesFile`: the form is left for the page to read; `organizationId`: where the page is.
   */
  async known(
    request: Request,
    response: Response,
    make: (asked: Asked, person: Person) => Promise<Answered>,
    { takesFile = false, organizationId }: { takesFile?: boolean; organizationId?: string | undefined } = {},
  ): Promise<void> {
    await this.answer(
      request,
      response,
      async (asked) => {
        if (!isPrivate(request)) return noticePage(asked.words, asked.words.insecure, { status: 403 });
        const person = await this.people.find(request, organizationId);
        if (!person) {
          // Whoever tries cookies is counted as who tries keys.
          if (readCookie(request) !== undefined) await this.rateLimit.countAddress(request, response);
          return signInFirst(asked);
        }
        const key = `user:${person.session.userId}`;
        await this.rateLimit.countAgainst([{ key, limit: PER_SECOND, reason: 'KEY_RATE' }], response);
        return make(asked, person);
      },
      takesFile,
    );
  }

  private async answer(
    request: Request,
    response: Response,
    make: (asked: Asked) => Promise<Answered>,
    takesFile = false,
  ): Promise<void> {
    const words = wordsIn(languageOf(request, Object.keys(WORDS)));
    request.errorPage = (status) => ({
      headers: { 'Content-Type': 'text/html; charset=utf-8' },
      body: noticePage(words, status === 429 ? words.tooMany : words.unavailable, { status }).body,
    });
    let form = new URLSearchParams();
    if (request.method === 'POST') {
      const given = takesFile ? 'no form' : await readForm(request);
      if (given === 'gone') return;
      if (!isFromHere(request)) {
        if (takesFile) request.resume();
        return send(request, response, noticePage(words, words.foreignForm, { status: 403 }));
      }
      if (given === 'too large')
        return send(request, response, noticePage(words, words.tooLarge, { status: 413 }));
      // A button alone sends no field.
      if (typeof given !== 'string') form = given;
    }
    let answered: Answered;
    try {
      answered = await make({ words, request, response, form });
    } catch (error) {
      const notice = noticeOf(error, words);
      if (!notice) throw error;
      answered = notice;
    }
    await send(request, response, answered);
    // A browser that cannot get rid of the rest of its file would never come to read the answer.
    if (takesFile) request.unpipe().resume();
  }
}

/**
 * Whoever wanted to see a page is led to it once they have signed in. Of a form the browser still has what was typed: it sends it again
 * when the answer is loaded anew.
 */
function signInFirst({ request, response, words }: Asked): Answered {
  const isAgain = readCookie(request) !== undefined;
  if (request.method !== 'POST') {
    rememberWanted(request, response, request.originalUrl);
    return { redirect: `/dashboard/sign-in${isAgain ? '?again' : ''}`, isForWindow: true };
  }
  const { title, text, link } = words.signedOut;
  const more = html`<p><a class="button" href="/dashboard/sign-in?again" target="_blank" rel="noopener">${link}</a></p>`;
  return noticePage(words, { title, text }, { status: 403, more });
}

/** What the operations refuse by who asks, or by an address that nobody has a link to; all else is a fault, and an error page. */
function noticeOf(error: unknown, words: Words): Page | undefined {
  if (!(error instanceof RpcError)) return undefined;
  if (error.code === 'NOT_FOUND' || error.code === 'BAD_REQUEST')
    return noticePage(words, words.notFound, { status: error.code === 'NOT_FOUND' ? 404 : 400 });
  if (error.code === 'INSUFFICIENT_PERMISSIONS') return noticePage(words, words.forbidden, { status: 403 });
  return undefined;
}

async function send(request: Request, response: Response, answered: Answered): Promise<void> {
  if (request.isGivenUp) return;
  if (answered instanceof StreamedAnswer) {
    openStream(request, response);
    request.isStream = true;
    response.setHeader('Cache-Control', 'no-store');
    return sendStream(answered, request, response);
  }
  if ('redirect' in answered) {
    // htmx would follow a redirect by itself, and find nothing of what it wants in the page there.
    if (answered.isForWindow && request.headers['hx-request'] !== undefined) {
      response.status(200).set({ 'HX-Redirect': answered.redirect, 'Cache-Control': 'no-store' }).end();
      return;
    }
    response.status(303).set({ Location: answered.redirect, 'Cache-Control': 'no-store' }).end();
    return;
  }
  sendPage(response, answered);
}
