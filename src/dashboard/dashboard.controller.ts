import { type Page, withFlash } from '#libs/pages';
import { Controller, Get, Post, Req, Res, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { type Request, type Response } from 'express';
import { Documented, isId, type Issue, noSuch, RpcError, StreamedAnswer } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { faultIn } from './faults.js';
import { accessTo } from './access.js';
import { Answering, type Answered, type Asked } from './answering.js';
import { noticePage } from './document.js';
import { type PageDefinition } from './page.js';
import { findPage } from './pages.js';
import { isMember, People, type Person } from './people.js';
import { type Refusal } from './form-input.js';
import { contextOf, type PageContext } from './page-context.js';

/**
 * The pages of an organization. For everyone except its members, they do not exist. Pages run the API's operations, so
 * each rule exists only once. Pages show and do only what the role allows. Each action ends with a redirect to a page
 * that confirms it and can be reloaded.
 */
@Controller('dashboard/:organization')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class DashboardController {
  constructor(
    private readonly answering: Answering,
    private readonly people: People,
    private readonly modules: ModuleRef,
  ) {}

  @Get(['', '{*below}'])
  show(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answer(request, response, async ({ show }, context) => show(context));
  }

  @Post(['', '{*below}'])
  act(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answer(request, response, async (page, context) => {
      try {
        const done = await page.act!(context);
        if ('isShownAgain' in done) return await page.show(context);
        return 'to' in done ? { redirect: context.address.path(withFlash(done.to, done.done)) } : done;
      } catch (error) {
        context.form.refusal = refusalOf(error, context.words);
        if (!context.form.refusal) throw error;
        return await page.show(context);
      }
    });
  }

  private async answer(
    request: Request,
    response: Response,
    make: (page: PageDefinition, context: PageContext) => Promise<Answered>,
  ): Promise<void> {
    const { organization } = request.params as { organization: string };
    const found = findPage(request.path.slice(`/dashboard/${organization}`.length));
    const takesFile = found?.page.takesFile === true;
    await this.answering.known(
      request,
      response,
      async (asked, person) => {
        const { words } = asked;
        if (!isMember(person) || !found) return noticePage(words, words.notFound, { status: 404, person });
        const { page, params } = found;
        const action = request.method === 'POST' ? 'act' : 'show';
        const access = accessTo(page, action, person);
        if (access === 'not found') return noticePage(words, words.notFound, { status: 404, person });
        request.caller = this.people.callerOf(person);
        if (access === 'forbidden') return noticePage(words, words.forbidden, { status: 403, person });
        if (access === 'nothing to do') return noticePage(words, words.notFound, { status: 405, person });
        const requireStill = async () => {
          const now = await this.people.find(request, person.organization.id, true);
          if (!now || !isMember(now) || accessTo(page, action, now) !== 'allowed') throw noSuch('member');
        };
        const answered = await this.within({ ...asked, person, params, requireStill }, (context) =>
          make(page, context),
        );
        return answered instanceof StreamedAnswer ? answered.while(requireStill) : answered;
      },
      { takesFile, organizationId: isId(organization) ? organization.toLowerCase() : undefined },
    );
  }

  /** Errors about permissions or missing records become pages of the organization. */
  private async within(
    asked: Asked & Pick<Parameters<typeof contextOf>[0], 'person' | 'params' | 'requireStill'>,
    make: (context: PageContext) => Promise<Answered>,
  ): Promise<Answered> {
    const find = <T>(type: Type<T>) => this.modules.get(type, { strict: false });
    try {
      const context = contextOf({ ...asked, people: this.people, find });
      const answered = await make(context);
      await context.api.finished();
      return answered;
    } catch (error) {
      const notice = noticeOf(error, asked.words, asked.person);
      if (!notice) throw error;
      return notice;
    }
  }
}

function noticeOf(error: unknown, words: DashboardWords, person: Person): Page | undefined {
  if (!(error instanceof RpcError)) return undefined;
  if (error.code === 'NOT_FOUND') return noticePage(words, words.notFound, { status: 404, person });
  if (error.code === 'BAD_REQUEST') return noticePage(words, words.badAddress, { status: 400, person });
  if (error.code === 'INSUFFICIENT_PERMISSIONS')
    return noticePage(words, words.forbidden, { status: 403, person });
  return undefined;
}

/** Error reasons that concern one field, which has the same name in every form. */
const FIELDS: Record<string, string> = { EMAIL_TAKEN: 'email', ALREADY_MEMBER: 'email', SLUG_TAKEN: 'slug' };

/** An operation's error, translated for the form. Undefined if another page shows it. */
function refusalOf(error: unknown, words: DashboardWords): Refusal | undefined {
  if (!(error instanceof RpcError)) return undefined;
  const { code, details, message } = error;
  const faults = (details.issues ?? []).map(({ path, message: why }: Issue) => ({
    field: path,
    text: faultIn(words.faults, why),
  }));
  if (code === 'BAD_REQUEST') return { status: 422, faults, text: faults.length > 0 ? undefined : message };
  const { reason } = details;
  const text = reason === undefined ? message : (words.reasons[reason] ?? message);
  const field = reason === undefined ? undefined : FIELDS[reason];
  if (field !== undefined) return { status: 409, faults: [{ field, text }], text: undefined };
  if (code === 'CONFLICT') return { status: 409, faults, text };
  if (code === 'INSUFFICIENT_PERMISSIONS' && reason === 'ROLE_EXCEEDS_YOURS')
    return { status: 403, faults, text };
  if (code === 'PAYLOAD_TOO_LARGE' || code === 'UNSUPPORTED_MEDIA_TYPE') return { status: 422, faults, text };
  return undefined;
}
