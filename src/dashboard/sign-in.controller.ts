import { isIP } from 'node:net';
import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { Mailer } from '#libs/mail';
import { Documented, isEmailAddress, isId, OperationRunner, RpcError, systemInput } from '#libs/rpc';
import { localeFor } from '#locales';
import {
  AcceptInvitation,
  InvitationLinks,
  Passkeys,
  type RelyingParty,
  SESSION_DAYS,
  Sessions,
  SignInLinks,
  Team,
} from '../team/index.js';
import { OrganizationNames } from '../organizations/index.js';
import { Answering, type Answered, type Asked } from './answering.js';
import { browserOf } from './browser.js';
import {
  isFromThisMachine,
  isLoopback,
  readCookie,
  readKnown,
  readWanted,
  rememberKnown,
  rememberWanted,
  writeCookie,
} from './cookie.js';
import { noticePage } from './document.js';
import { PublicAddress } from '../config/index.js';
import { accountPage, organizationsPage, passkeyPage } from './account-pages.js';
import {
  badLinkPage,
  enterPage,
  invitationPage,
  sentPage,
  signInPage,
  writtenPage,
} from './sign-in-pages.js';

/** Signing in and out. GET requests change nothing, because mail scanners follow links. */
@Controller('dashboard')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class SignInController {
  constructor(
    private readonly answering: Answering,
    private readonly names: OrganizationNames,
    private readonly sessions: Sessions,
    private readonly links: SignInLinks,
    private readonly invitations: InvitationLinks,
    private readonly team: Team,
    private readonly passkeys: Passkeys,
    private readonly address: PublicAddress,
    private readonly mailer: Mailer,
    private readonly runner: OperationRunner,
  ) {}

  @Get(['', '{/}'])
  organizations(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.known(request, response, async ({ words }, person) => {
      // After a role change, the organization's page asks for a new sign-in and leads back.
      const { memberships: current, outdated } = person.session;
      const memberships = [...current, ...outdated];
      const [first] = memberships;
      if (first && memberships.length === 1) return { redirect: `/dashboard/${first.organizationId}` };
      const named = memberships.map(async ({ organizationId: id }) => {
        const named = await this.names.find(id);
        return named === undefined ? [] : [{ id, name: named.name }];
      });
      return organizationsPage(words, person, (await Promise.all(named)).flat());
    });
  }

  @Get('sign-in')
  signIn(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async ({ words }) => {
      const party = this.partyOf(request);
      const passkey = party && (await this.passkeys.authentication(party));
      const { signedOut, again } = words.done;
      const done = 'out' in request.query ? signedOut : 'again' in request.query ? again : undefined;
      return signInPage(words, { passkey, done, isWritten: this.mailer.written !== undefined });
    });
  }

  @Post('passkey')
  signInByPasskey(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async (asked) => {
      const { words, form } = asked;
      const party = this.partyOf(request);
      const userId = party && (await this.passkeys.signIn(party, jsonIn(form)));
      if (userId !== undefined) return this.begin(asked, userId, '/dashboard');
      const { refusedTitle: title, refused: text } = words.passkeys;
      return noticePage(words, { title, text }, { status: 403 });
    });
  }

  @Post('sign-in')
  sendLink(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, ({ words, form }) => {
      const { written } = this.mailer;
      const email = form.get('email')?.trim() ?? '';
      if (!isEmailAddress(email) || email.length > 254)
        return Promise.resolve(
          signInPage(words, { email, fault: words.faults.email, isWritten: written !== undefined }),
        );
      void this.links.send(email, localeFor(request).language, request.ip, readKnown(request));
      if (!written) return Promise.resolve(sentPage(words));
      const folder = isFromThisMachine(request) ? written.directory : undefined;
      return Promise.resolve(writtenPage(words, folder));
    });
  }

  @Get('sign-in/:token')
  link(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async ({ words }) =>
      (await this.links.isGood(tokenOf(request))) ? enterPage(words) : badLinkPage(words),
    );
  }

  @Post('sign-in/:token')
  enter(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async (asked) => {
      const userId = await this.links.use(tokenOf(request));
      if (userId === undefined) return badLinkPage(asked.words);
      return this.begin(asked, userId, '/dashboard');
    });
  }

  @Get('invitations/:token')
  invitation(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async ({ words }) => {
      const name = this.invitations.read(tokenOf(request));
      const invited = name && (await this.team.invitedBy(name.organizationId, name.invitationId));
      const organization = invited && (await this.names.find(name.organizationId));
      if (!invited || organization === undefined) return badLinkPage(words);
      return invitationPage(words, organization.name, words.roles[invited.role].name);
    });
  }

  @Post('invitations/:token')
  accept(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async (asked) => {
      const { words } = asked;
      const name = this.invitations.read(tokenOf(request));
      const invited = name && (await this.team.invitedBy(name.organizationId, name.invitationId));
      // An invitation works once. After that, people sign in with their own links.
      if (!invited) return badLinkPage(words);
      const { organizationId, invitationId } = name;
      const command = systemInput(AcceptInvitation, organizationId, { invitationId }, 'invitation');
      command.context.actor = { type: 'user', id: invited.userId } as const;
      try {
        const { userId } = await this.runner.execute<{ userId: string }>(command);
        return await this.begin(asked, userId, `/dashboard/${organizationId}`);
      } catch (error) {
        if (!(error instanceof RpcError) || error.code !== 'NOT_FOUND') throw error;
        return badLinkPage(words);
      }
    });
  }

  @Post('sign-out')
  signOut(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async () => {
      const token = readCookie(request);
      if (token !== undefined) await this.sessions.end(token);
      writeCookie(request, response, '', 0);
      return { redirect: '/dashboard/sign-in?out' };
    });
  }

  @Get('account')
  account(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.known(request, response, async ({ words }, person) => {
      const { userId } = person.session;
      const { added, removed } = words.passkeys.done;
      const happened = { ended: words.done.sessionEnded, added, removed };
      const [, done] = Object.entries(happened).find(([name]) => name in request.query) ?? [];
      const party = this.partyOf(request);
      const name = await this.nameOf(userId);
      const adding = party && (await this.passkeys.registration(party, userId, name));
      const [sessions, passkeys] = [await this.sessions.list(userId), await this.passkeys.list(userId)];
      return accountPage(words, person, { sessions, passkeys, adding, done, name });
    });
  }

  @Post('account/sessions/:session/end')
  endSession(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.known(request, response, async ({ words }, person) => {
      const { session } = person;
      const { session: id } = request.params as { session: string };
      if (!isId(id)) return noticePage(words, words.notFound, { status: 404, person });
      await this.sessions.endOne(session.userId, id);
      return { redirect: '/dashboard/account?ended' };
    });
  }

  @Post('account/passkeys')
  addPasskey(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.known(request, response, async ({ words, form }, person) => {
      const party = this.partyOf(request);
      const name = browserOf(request.headers['user-agent']);
      const isAdded = party && (await this.passkeys.add(party, person.session.userId, jsonIn(form), name));
      if (isAdded) return { redirect: '/dashboard/account?added' };
      return noticePage(
        words,
        { title: words.passkeys.add, text: words.passkeys.refused },
        { status: 422, person },
      );
    });
  }

  @Get('account/passkeys/:passkey')
  removingPasskey(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.known(request, response, async ({ words }, person) => {
      const { passkey: id } = request.params as { passkey: string };
      const found = (await this.passkeys.list(person.session.userId)).find((one) => one.id === id);
      return found
        ? passkeyPage(words, person, found)
        : noticePage(words, words.notFound, { status: 404, person });
    });
  }

  @Post('account/passkeys/:passkey')
  removePasskey(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.known(request, response, async ({ words }, person) => {
      const { passkey: id } = request.params as { passkey: string };
      if (!isId(id)) return noticePage(words, words.notFound, { status: 404, person });
      await this.passkeys.remove(person.session.userId, id);
      return { redirect: '/dashboard/account?removed' };
    });
  }

  /** The account name that devices show for a passkey: the email address if the person is in an organization. */
  private async nameOf(userId: string): Promise<string> {
    const [first] = await this.team.membershipsOf(userId);
    const addresses = first && (await this.team.addressesOf(first.organizationId, [userId]));
    return addresses?.get(userId) ?? userId;
  }

  /** The host that passkeys are bound to; undefined for IP addresses, which cannot have passkeys. */
  private partyOf(request: Request): RelyingParty | undefined {
    const here = `${request.protocol}://${request.headers.host ?? ''}`;
    if (!URL.canParse(here)) return undefined;
    const origin = isLoopback(request) || !this.address.isKnown ? here : new URL(this.address.url).origin;
    const { hostname } = new URL(origin);
    return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : undefined;
  }

  /** Always starts a new session, which prevents session fixation. */
  private async begin({ request, response }: Asked, userId: string, to: string): Promise<Answered> {
    const before = readCookie(request);
    if (before !== undefined) await this.sessions.end(before);
    const token = await this.sessions.begin(userId, browserOf(request.headers['user-agent']));
    writeCookie(request, response, token, SESSION_DAYS);
    rememberKnown(request, response, this.links.knownAs(userId));
    const wanted = readWanted(request);
    if (wanted === undefined) return { redirect: to };
    rememberWanted(request, response, undefined);
    const isTheirs = (await this.team.membershipsOf(userId)).some((one) =>
      wanted.includes(one.organizationId),
    );
    return { redirect: to === '/dashboard' && isTheirs ? wanted : to };
  }
}

/** The JSON that the browser's script put into the form; undefined if it is not valid. */
function jsonIn(form: URLSearchParams): unknown {
  try {
    return JSON.parse(form.get('response') ?? '') as unknown;
  } catch {
    return undefined;
  }
}

function tokenOf(request: Request): string {
  return (request.params as { token: string }).token;
}
