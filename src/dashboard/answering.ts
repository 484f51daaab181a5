import { Injectable } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { html, type Page, readForm, sendPage } from '#libs/pages';
import { RateLimitGuard } from '#libs/rate-limit';
import { openStream, RpcError, sendStream, StreamedAnswer } from '#libs/rpc';
import { dashboardFor, type DashboardWords } from '#locales';
import { isFromHere, isFromProgram, isPrivate, readCookie, rememberWanted } from './cookie.js';
import { noticePage } from './document.js';
import { People, type Person } from './people.js';

/** A page, a file or a redirect. `isForWindow` redirects the whole window, even if htmx requested a part of the page. */
export type Answered = Page | StreamedAnswer | { redirect: string; isForWindow?: boolean };

/** The input of a page: the request, its language and its form. */
export type Asked = { words: DashboardWords; request: Request; response: Response; form: URLSearchParams };

/** Requests per person and second. No one clicks faster. */
const PER_SECOND = 30;

/** Handles every request to the dashboard. Rejects forms from other sites. */
@Injectable()
export class Answering {
  constructor(
    private readonly people: People,
    private readonly rateLimit: RateLimitGuard,
  ) {}

  /**
   * Responds with a public page. Rate-limited, because some of these pages sign people in.
   *
   * @param options `takesFormsOfPrograms`: also forms that no browser sent, because the address authorizes what they do.
   */
  async open(
    request: Request,
    response: Response,
    make: (asked: Asked) => Promise<Answered>,
    { takesFormsOfPrograms = false } = {},
  ): Promise<void> {
    const open = async (asked: Asked) => {
      if (!isPrivate(request)) return noticePage(asked.words, asked.words.insecure, { status: 403 });
      await this.rateLimit.countAddress(request, response);
      return make(asked);
    };
    await this.answer(request, response, open, { takesFormsOfPrograms });
  }

  /**
   * Responds with a page that requires a session.
   *
   * @param options `takesFile`: the page reads the form itself. `organizationId`: the page's organization.
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
          // Guesses of cookies are rate-limited like guesses of API keys.
          if (readCookie(request) !== undefined) await this.rateLimit.countAddress(request, response);
          return signInFirst(asked);
        }
        const key = `user:${person.session.userId}`;
        await this.rateLimit.countAgainst([{ key, limit: PER_SECOND, reason: 'KEY_RATE' }], response);
        return make(asked, person);
      },
      { takesFile },
    );
  }

  private async answer(
    request: Request,
    response: Response,
    make: (asked: Asked) => Promise<Answered>,
    { takesFile = false, takesFormsOfPrograms = false },
  ): Promise<void> {
    const words = dashboardFor(request);
    request.errorPage = (status) =>
      noticePage(words, status === 429 ? words.tooMany : words.unavailable, { status });
    let form = new URLSearchParams();
    if (request.method === 'POST') {
      const given = takesFile ? 'no form' : await readForm(request);
      if (given === 'gone') return;
      if (!isFromHere(request) && !(takesFormsOfPrograms && isFromProgram(request))) {
        if (takesFile) request.resume();
        return send(request, response, noticePage(words, words.foreignForm, { status: 403 }));
      }
      if (given === 'too large')
        return send(request, response, noticePage(words, words.tooLarge, { status: 413 }));
      // A form with nothing but a button has no fields.
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
    // Reads the rest of the file, because browsers read the response only after they have sent the whole file.
    if (takesFile) request.unpipe().resume();
  }
}

/**
 * Redirects to the sign-in page, and back after signing in. For a form, it shows a page instead: the browser keeps the typed input and
 * sends it again when this page is reloaded.
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

/** The page for errors that depend on the person or the address. All other errors become the error page. */
function noticeOf(error: unknown, words: DashboardWords): Page | undefined {
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
    // htmx would follow the redirect itself and not find the requested part in that page.
    if (answered.isForWindow && request.headers['hx-request'] !== undefined) {
      response.status(200).set({ 'HX-Redirect': answered.redirect, 'Cache-Control': 'no-store' }).end();
      return;
    }
    response.status(303).set({ Location: answered.redirect, 'Cache-Control': 'no-store' }).end();
    return;
  }
  sendPage(response, answered);
}
