import { Controller, Get, Param, Post, Req, Res } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { sendPage } from '#libs/pages';
import { Documented } from '#libs/rpc';
import { localeFor } from '#locales';
import { type ConsentFields } from '../contacts/index.js';
import { pageOf, wordingOf } from './page.js';
import { Unsubscribing } from './unsubscribe.js';

/** Sources of the consent in the history. */
const [PAGE, ONE_CLICK] = ['Unsubscribe page', 'List-Unsubscribe'];

/** Maximum bytes that are read. The form has one field. */
const MAX_FORM_BYTES = 4_096;

/** The name of the path in logs and metrics, without the token, which is a key. */
export function nameOfUnsubscribePath(path: string): string | undefined {
  return path.startsWith('/u/') ? '/u' : undefined;
}

/**
 * The links in the footer of broadcasts. Only POST unsubscribes, because mail scanners follow links with GET. Email clients send a POST
 * themselves when someone presses their unsubscribe button (RFC 8058). Invalid tokens cause no error page, so pages do not reveal
 * which people exist.
 */
@Controller('u')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class UnsubscribeController {
  constructor(private readonly unsubscribing: Unsubscribing) {}

  @Get(':token')
  async page(
    @Param('token') token: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const person = await this.unsubscribing.find(token);
    const isBack = 'subscribed' in request.query;
    if (!request.isGivenUp) sendPage(response, pageOf(person, localeFor(request, person?.language), isBack));
  }

  @Post(':token')
  async act(
    @Param('token') token: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const form = await readForm(request);
    const isBack = /(^|&)action=subscribe(&|$)/.test(form);
    const isOneClick = /List-Unsubscribe/i.test(form);
    if (isBack) await this.unsubscribing.subscribe(token, await this.seen(token, 'subscribe', request));
    else if (isOneClick) await this.unsubscribing.unsubscribe(token, { source: ONE_CLICK });
    else await this.unsubscribing.unsubscribe(token, await this.seen(token, 'unsubscribe', request));
    if (request.isGivenUp) return;
    if (isOneClick) {
      response.status(200).type('text/plain').send('Unsubscribed.\n');
      return;
    }
    // Reloading the next page does not repeat the action.
    response.redirect(303, `/u/${encodeURIComponent(token)}${isBack ? '?subscribed' : ''}`);
  }

  /** Evidence of the action. `ip` is only recorded for the page, because one-click requests come from the email provider. */
  private async seen(
    token: string,
    action: 'subscribe' | 'unsubscribe',
    request: Request,
  ): Promise<ConsentFields> {
    const person = await this.unsubscribing.find(token);
    const address = request.ip?.replace(/^::ffff:/, '');
    return {
      source: PAGE,
      ...(person && wordingOf(person, action, localeFor(request, person.language))),
      ...(address === undefined ? {} : { ip: address }),
    };
  }
}

/** The raw body. Anything beyond the limit is ignored. */
async function readForm(request: Request): Promise<string> {
  let form = '';
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (form.length < MAX_FORM_BYTES) form += chunk.toString('latin1');
  }
  return form.slice(0, MAX_FORM_BYTES);
}
