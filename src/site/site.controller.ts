import { Controller, Get, Next, Post, Res } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { TtlCache } from '#libs/database';
import { formatDate, formatNumber, qrCode, readForm, scriptFile, sendPage } from '#libs/pages';
import { RateLimitGuard } from '#libs/rate-limit';
import { Documented, isId, LONGEST_SLUG, RpcError, shared, SLUG } from '#libs/rpc';
import { LOCALES, localeFor, localeIn, localeNear, type SiteWords } from '#locales';
import { countryName } from '../contacts/index.js';
import { type CustomValue } from '../fields/index.js';
import { signUps } from '../forms/index.js';
import { isReserved } from '../organizations/index.js';
import {
  Confirmations,
  type PendingRequest,
  type PersonDetails,
  type RequestKind,
} from '../confirmations/index.js';
import { Recruiting, type Requested, signatureRequests, type SignerDetails } from '../petitions/index.js';
import { PublicAddress } from '../config/index.js';
import { submittedPage, confirmPage, endedPage, noticePage, signedPage } from './answer-pages.js';
import { type Page } from './document.js';
import { jsonFeedOf, rssOf, sitemapOf } from './feeds.js';
import { embeddedIn, embedParameters, type Frame, frameOf, parametersOfFrame } from './frame.js';
import { organizationPage } from './organization-page.js';
import { isPetition, pathOf, progressTexts, urlOf } from './parts.js';
import { embedPage, petitionPage } from './petition-page.js';
import { type PersonalSigner, PersonalLinks } from './personal-links.js';
import { postPage } from './post-page.js';
import { ProofOfWork } from './proof-of-work.js';
import { questionsIn } from './questions.js';
import { asksForMore } from './sign-form.js';
import { QuickPages, type SharedAnswer } from './quick-pages.js';
import { readSource, Signing } from './signing.js';
import { signatureSheet } from './signature-sheet.js';
import { signUpPage } from './sign-up-page.js';
import {
  type Found,
  type FoundForm,
  type FoundOrganization,
  type FoundPetition,
  type Kind,
  languageNamed,
  SiteRecords,
  type Visitor,
} from './site-records.js';
import { type Question, type SignForm } from './site-types.js';

/** Seconds for which shared caches may keep files that rarely change. */
const KEPT_SECONDS = { feed: 60, script: 3_600 };
/** Lets other sites show the number, and shared caches keep it. */
const COUNT_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'public, max-age=2, stale-while-revalidate=30',
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** Characters of a signer's token that a form keeps. Longer ones are not ours. */
const MAX_VIA = 100;

type Named = { organization: string; petition?: string; form?: string; post?: string; token?: string };
type Answered = Page | { redirect: string } | undefined;
/** A petition or sign-up form, its organization, and texts in its language. */
type About<Found extends FoundForm = FoundForm> = {
  organization: FoundOrganization;
  found: Found;
  words: SiteWords;
};

/** What both kinds of requests contain. */
const REQUESTS: {
  [kind in Kind]: RequestKind<
    Pick<Requested, 'suspicion' | 'subscribe'> & Partial<Requested>,
    PersonDetails & Partial<SignerDetails>
  >;
} = { petitions: signatureRequests, forms: signUps };

function kindOf({ form }: Named): Kind {
  return form === undefined ? 'petitions' : 'forms';
}

/** Texts about signing a petition, or about a sign-up form. */
function wordsFor(kind: Kind, { petition }: FoundForm, organization: FoundOrganization): SiteWords {
  const { site } = localeNear(petition.language, organization.language);
  if (kind === 'petitions') return site;
  const words = Object.entries(site.signUp).map(([word, text]) => [
    word,
    typeof text === 'object' ? { ...(site[word as keyof SiteWords] as object), ...text } : text,
  ]);
  return { ...site, ...(Object.fromEntries(words) as typeof site) };
}

/**
 * The public site. Only POST changes data, because mail scanners and link previews request every address with GET. Requests for unknown
 * addresses are passed on, because they may be misspelled operations.
 */
@Controller()
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class SiteController {
  private readonly pages = new TtlCache<Answered>(1_000, 1_000, (page) =>
    page && 'body' in page ? page.body.length : 0,
  );
  private readonly counts = new TtlCache<SharedAnswer | undefined>();
  private readonly feeds = new TtlCache<string | undefined>(
    KEPT_SECONDS.feed * 1_000,
    1_000,
    (text = '') => text.length,
  );

  private readonly codes = new TtlCache<Buffer>(KEPT_SECONDS.feed * 1_000, 1_000, (code) => code.length);

  constructor(
    private readonly records: SiteRecords,
    private readonly signing: Signing,
    private readonly confirmations: Confirmations,
    private readonly personal: PersonalLinks,
    private readonly address: PublicAddress,
    private readonly quick: QuickPages,
    private readonly proof: ProofOfWork,
    private readonly rateLimit: RateLimitGuard,
    private readonly recruiting: Recruiting,
  ) {}

  /** The path from which a form gets its challenge; null if no proof is required. */
  private get proofUrl(): string | null {
    return this.proof.isRequired ? '/site/challenge' : null;
  }

  @Get('embed.js')
  embedScript(@Res() response: Response, @Next() next: NextFunction): void {
    if (!this.address.hasSite) return next();
    response.set('Access-Control-Allow-Origin', '*').set('Cross-Origin-Resource-Policy', 'cross-origin');
    sendFile(response, 'text/javascript', scriptFile('#site-browser/embed').text);
  }

  /** A new challenge for each request. */
  @Get('site/challenge')
  async challenge(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    if (!this.address.hasSite || !this.proof.isRequired) return next();
    response
      .status(200)
      .set({ 'Cache-Control': 'no-store', 'Access-Control-Allow-Origin': '*' })
      .json(await this.proof.challenge());
  }

  @Get('site/:file')
  file(@Res() response: Response, @Next() next: NextFunction): void {
    const { file = '' } = response.req.params as { file?: string };
    const known = Object.hasOwn(FILES, file) ? FILES[file] : undefined;
    if (!this.address.hasSite || !known) return next();
    sendFile(response, known.type, known.text());
  }

  /** Links in emails that count clicks, but do not exist: see `ClickController`. No organization has this slug. */
  @Get(['l', 'l/*path'])
  unknownClick(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    const { req: request } = response;
    return readsPages(request) ? this.answerUnknown(request, response) : Promise.resolve(next());
  }

  @Get(':organization')
  organization(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, (named) =>
      this.pages.get(named.organization, async () => {
        const found = await this.records.organization(named.organization);
        if (!found) return undefined;
        const organization = found.value;
        if (found.path !== `/${named.organization}`) return { redirect: found.path };
        const { petitions, posts, forms } = await this.records.all(organization);
        const words = localeIn(organization.language).site;
        const listed = petitions.map(({ petition }) => petition);
        return organizationPage({ organization, petitions: listed, posts, forms, words });
      }),
    );
  }

  @Get(':organization/feed.xml')
  rss(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.feed(response, next, 'application/rss+xml', rssOf);
  }

  @Get(':organization/feed.json')
  jsonFeed(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.feed(response, next, 'application/feed+json', jsonFeedOf);
  }

  @Get(':organization/sitemap.xml')
  async sitemap(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    const found = await this.found(response.req.params as Named);
    if (!found) return next();
    const { petitions, posts } = await this.records.all(found.value);
    const urls = [
      found.value.url,
      ...petitions.flatMap(({ petition }) => [
        petition.url,
        ...(petition.languages.length > 1
          ? petition.languages.map((language) => urlOf({ ...petition, language }))
          : []),
      ]),
      ...posts.map(({ url }) => url),
    ];
    const kept = `public, max-age=${KEPT_SECONDS.feed}`;
    sendText(response, 'application/xml', sitemapOf(urls), kept);
  }

  @Get([':organization/petitions/:petition', ':organization/forms/:form'])
  petition(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.formPage(response, next, '');
  }

  @Get([':organization/petitions/:petition/embed', ':organization/forms/:form/embed'])
  embed(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.formPage(response, next, '/embed');
  }

  @Get(':organization/petitions/:petition/count.json')
  async count(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    const { req: request } = response;
    const named = request.params as Named;
    if (!this.isOurs(named)) return next();
    const language = languageNamed(request, Object.keys(LOCALES)) ?? '';
    const key = `${named.organization} ${named.petition} ${language}`;
    const answered = await this.counts.get(key, async () => {
      const { about } = await this.petitionOf(named, OF_ITSELF);
      if (!about) return undefined;
      const { signatures, goal } = about.found.petition;
      const { site } = localeIn(language);
      const { counted, aim, percent } = progressTexts(signatures, goal, site);
      // Pages request the texts in their language and show them.
      const texts = { counted, aim, progress: site.progress(percent) };
      const body = JSON.stringify({ signatures, goal, ...(language === '' ? {} : { texts }) });
      return { headers: COUNT_HEADERS, body: Buffer.from(body), madeAt: performance.now() };
    });
    if (answered === undefined) return next();
    if (request.isGivenUp) return;
    // Other query strings would displace entries from the cache.
    const isPlain = ['', `?lang=${language}`].includes(request.url.slice(request.path.length));
    if (request.method === 'GET' && isPlain)
      this.quick.keep(request.url, nameOfSitePath(request.path)!, answered);
    response.status(200).set(answered.headers).end(answered.body);
  }

  @Get(':organization/petitions/:petition/paper')
  paper(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, async (named, request) => {
      const { about, redirect } = await this.petitionOf(named, request);
      if (redirect !== undefined) return { redirect: `${redirect}/paper` };
      if (!about) return undefined;
      const { organization, found, words } = about;
      return signatureSheet({ organization, petition: found.petition, words });
    });
  }

  @Get([':organization/petitions/:petition/qr.svg', ':organization/forms/:form/qr.svg'])
  qrSvg(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.code(response, next, 'svg', 'image/svg+xml');
  }

  @Get([':organization/petitions/:petition/qr.png', ':organization/forms/:form/qr.png'])
  qrPng(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.code(response, next, 'png', 'image/png');
  }

  @Post([':organization/petitions/:petition/sign', ':organization/forms/:form/sign'])
  sign(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, async (named, request) => {
      const { about } = await this.formOf(named, request);
      if (!about) return undefined;
      const { organization, found, words } = about;
      const frame = embeddedIn(request.query);
      const { petition } = found;
      const given = await readForm(request);
      if (given === 'gone') return undefined;
      if (typeof given === 'string')
        return noticePage({
          organization,
          words,
          notice: words.notFound,
          status: given === 'no form' ? 415 : 413,
        });
      const showForm = (form: SignForm) => this.pageWith(about, form, frame);
      if (!petition.isOpen) return showForm(this.signing.emptyForm(found, null));
      let sent: Parameters<typeof submittedPage>[0]['sent'];
      try {
        const signed = await this.quick.yieldToWrites(() =>
          this.signing.sign(organization, found, given, request),
        );
        if (signed.status === 'faults') return showForm(signed.form);
        if (signed.status === 'too many')
          return noticePage({ organization, words, notice: words.tooMany, status: 429, frame });
        sent = signed;
      } catch (error) {
        // It was closed or deleted since the page was looked up.
        if (!(error instanceof RpcError) || !['CONFLICT', 'NOT_FOUND'].includes(error.code)) throw error;
        return endedPage({ organization, petition, words, ending: 'closed' });
      }
      // Answered without a redirect, because neither an address nor a cookie may contain the email address.
      if (petition.isConfirmed)
        return submittedPage({ organization, petition, words, frame, sent, proof: this.proofUrl });
      // Reloading the next page does not sign again.
      return { redirect: pathOf(petition, '/thanks', embedParameters(frame)) };
    });
  }

  @Get([':organization/petitions/:petition/thanks', ':organization/forms/:form/thanks'])
  thanks(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, async (named, request) => {
      const { about } = await this.formOf(named, request);
      if (!about) return undefined;
      const { organization, found, words } = about;
      return submittedPage({
        organization,
        petition: found.petition,
        words,
        frame: embeddedIn(request.query),
      });
    });
  }

  @Get([':organization/petitions/:petition/confirm/:token', ':organization/forms/:form/confirm/:token'])
  confirmation(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, (named, request) => this.showConfirmation(named, request));
  }

  @Post([':organization/petitions/:petition/confirm/:token', ':organization/forms/:form/confirm/:token'])
  confirm(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, async (named, request) => {
      const given = await readForm(request);
      if (typeof given === 'string' && given !== 'no form') return undefined;
      const kind = kindOf(named);
      const name = this.confirmations.readToken(REQUESTS[kind], named.token!);
      if (!name) return this.unknownLink(request);
      const { organizationId } = name;
      const { requestId, state } = await this.confirmations.latest(REQUESTS[kind], name);
      // Confirms only the request that the page showed. If the person has signed again since, shows the page again.
      const isShown = typeof given === 'string' || (given.get('request') ?? requestId) === requestId;
      if (state.status === 'PENDING' && isShown) {
        const outcome = await this.signing.confirm(kind, request, organizationId, requestId);
        if (outcome === 'CLOSED')
          return this.showEnding(kind, organizationId, state.recordId, 'closed', request);
      }
      return { redirect: request.url };
    });
  }

  /** Scanners and previews follow links, so GET changes nothing. A link that is no longer valid leads to the form. */
  @Get(':organization/petitions/:petition/sign/:token')
  personalPage(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, async (named, request) => {
      const { about } = await this.petitionOf(named, request);
      if (!about) return undefined;
      const { organization, found } = about;
      const link = await this.personalLink(named, about);
      const signer = link && (await this.personal.signer(link));
      const isOffered = found.petition.isOpen && !asksForMore(found.petition);
      if (!signer || (!signer.signatureId && !isOffered)) return { redirect: found.petition.path };
      if (signer.signatureId) {
        // The number must include their own signature.
        const after = (await this.aboutById('petitions', organization.id, found.id, request, true)) ?? about;
        return this.signedPageOf(after, signer.signatureId);
      }
      return this.personalPageOf(about, signer);
    });
  }

  @Post(':organization/petitions/:petition/sign/:token')
  signPersonally(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, async (named, request) => {
      if ((await readForm(request)) === 'gone') return undefined;
      const { about } = await this.petitionOf(named, request);
      if (!about) return undefined;
      const link = await this.personalLink(named, about);
      // Only the button on our page signs. Other pages lead to it.
      const { 'sec-fetch-site': from = 'same-origin' } = request.headers;
      if (link && from === 'same-origin' && !asksForMore(about.found.petition))
        await this.personal.sign(link, about.found.petition.language, request);
      return { redirect: link ? request.url : pathOf(about.found.petition) };
    });
  }

  @Get(':organization/posts/:post')
  post(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    return this.answer(response, next, (named) =>
      this.pages.get(`${named.organization} posts ${named.post}`, async () => {
        const whose = await this.found(named);
        const found = whose && (await this.records.post(whose.value, named.post!));
        if (!found) return undefined;
        if (found.path !== `/${named.organization}/posts/${named.post}`) return { redirect: found.path };
        const { value: organization } = whose;
        return postPage({
          organization,
          ...found.value,
          words: localeIn(organization.language).site,
        });
      }),
    );
  }

  private personalLink(named: Named, { organization, found }: About) {
    return this.personal.read(named.token!, { organizationId: organization.id, petitionId: found.id });
  }

  /** Not cached anywhere, because it contains a name. */
  private personalPageOf({ organization, found, words }: About<FoundPetition>, signer: PersonalSigner): Page {
    const form = this.signing.emptyForm(found, null);
    return petitionPage({ organization, petition: found.petition, form, words, proof: null, signer });
  }

  /** A page with a form. It is cached, unless its address contains a source, a signer's token, or how it looks in a frame. */
  private formPage(response: Response, next: NextFunction, end: '' | '/embed'): Promise<void> {
    return this.answer(response, next, async (named, request) => {
      const { query } = request;
      const source = readSource(query.source ?? query.utm_source) ?? (end === '' ? null : 'embed');
      const via = typeof query.via === 'string' ? query.via.slice(0, MAX_VIA) : null;
      const { about, redirect } = await this.formOf(named, request);
      if (redirect !== undefined) return { redirect: redirect + end };
      if (!about) return undefined;
      const frame = end === '' ? null : frameOf(query);
      const make = () => this.pageWith(about, this.signing.emptyForm(about.found, source, via), frame);
      const isPlain =
        via === null &&
        (source === null || (frame !== null && source === 'embed')) &&
        (frame === null || parametersOfFrame(frame).length === 0);
      const { path, language } = about.found.petition;
      return isPlain ? this.pages.get(`${path}${end} ${language}`, () => Promise.resolve(make())) : make();
    });
  }

  private pageWith({ organization, found, words }: About, form: SignForm, frame: Frame | null): Page {
    const { petition } = found;
    const shown = { organization, petition, form, words, proof: this.proofUrl };
    if (frame) return embedPage(shown, frame);
    return isPetition(petition) ? petitionPage({ ...shown, petition }) : signUpPage(shown);
  }

  /** The QR code of a page. What it brings has the source `qr`. */
  private async code(
    response: Response,
    next: NextFunction,
    format: 'svg' | 'png',
    type: string,
  ): Promise<void> {
    const { params, query } = response.req;
    // Without a language in the address, the code leads people to the page in theirs.
    const { about } = await this.formOf(params as Named, { headers: {}, query });
    if (!about) return next();
    const { id, petition } = about.found;
    const languages = languageNamed({ headers: {}, query }, petition.languages) ? petition.languages : [];
    const via = this.recruiting.readToken(id, query.via) === null ? [] : [`via=${query.via as string}`];
    const url = urlOf({ ...petition, languages }, ['source=qr', ...via]);
    const code = await this.codes.get(`${format} ${url}`, () => Promise.resolve(qrCode(url, format)));
    sendText(response, type, code, `public, max-age=${KEPT_SECONDS.script}`);
  }

  private async showConfirmation(named: Named, request: Request): Promise<Answered> {
    const kind = kindOf(named);
    const name = this.confirmations.readToken(REQUESTS[kind], named.token!);
    if (!name) return this.unknownLink(request);
    const { requestId, state } = await this.confirmations.latest(REQUESTS[kind], name);
    if (state.status === 'UNKNOWN') return this.unknownLink(request);
    // The number must include their own signature.
    const skipCache = state.status === 'CONFIRMED';
    const about = await this.aboutById(kind, name.organizationId, state.recordId, request, skipCache);
    if (!about) return this.unknownLink(request);
    const { organization, words } = about;
    const { petition } = about.found;
    if (state.status === 'CONFIRMED') return this.signedPageOf(about, state.resultId);
    if (state.status === 'EXPIRED' && state.reason === 'SIGNED_BEFORE')
      return signedPage({ organization, petition, words });
    if (state.status === 'EXPIRED' || !state.person)
      return endedPage({ organization, petition, words, ending: 'expired' });
    if (!petition.isOpen) return endedPage({ organization, petition, words, ending: 'closed' });
    const agreed = await this.confirmations.agreedTo({ ...name, requestId });
    const confirmed = confirmedBy({ ...state, person: state.person }, about, agreed);
    return confirmPage({ organization, petition, words, requestId, confirmed });
  }

  /** With the signer's own share link, if they signed a petition. */
  private async signedPageOf({ organization, found, words }: About, signatureId: string): Promise<Page> {
    const { id, petition } = found;
    if (!isPetition(petition)) return signedPage({ organization, petition, words });
    const token = this.recruiting.tokenOf(id, signatureId);
    const recruited = await this.recruiting.count(organization.id, signatureId);
    return signedPage({
      organization,
      petition,
      words,
      own: { token, recruited },
    });
  }

  private async showEnding(
    kind: Kind,
    organizationId: string,
    recordId: string,
    ending: 'expired' | 'closed',
    request: Request,
  ): Promise<Page> {
    const about = await this.aboutById(kind, organizationId, recordId, request);
    if (!about) return this.unknownLink(request);
    const { organization, found, words } = about;
    return endedPage({ organization, petition: found.petition, words, ending });
  }

  private unknownLink(request: Request): Page {
    const words = localeFor(request).site;
    return noticePage({ words, notice: words.unknownLink, status: 404 });
  }

  private async feed(
    response: Response,
    next: NextFunction,
    type: string,
    write: typeof rssOf,
  ): Promise<void> {
    const named = response.req.params as Named;
    const key = `${named.organization} ${type}`;
    const text = await this.feeds.get(key, async () => {
      const found = await this.found(named);
      return found && write(found.value, (await this.records.all(found.value)).posts);
    });
    if (text === undefined) {
      this.feeds.forget(key);
      return next();
    }
    response.set('Access-Control-Allow-Origin', '*');
    sendText(response, type, text, `public, max-age=${KEPT_SECONDS.feed}`);
  }

  /** Whether an address can belong to the site. Other addresses cause no database look-up. */
  private isOurs({ organization, petition, form, post }: Named): boolean {
    const names = [organization, petition, form, post].filter((name) => name !== undefined);
    if (!this.address.hasSite || isReserved(organization)) return false;
    return names.every((name) => name.length <= LONGEST_SLUG && (SLUG.test(name) || isId(name)));
  }

  private async found(named: Named): Promise<Found<FoundOrganization>> {
    return this.isOurs(named) ? this.records.organization(named.organization) : undefined;
  }

  private async petitionOf(
    named: Named,
    visitor: Visitor,
  ): Promise<{ about?: About<FoundPetition>; redirect?: string }> {
    return this.pageOf(named, ({ value }) => this.records.petition(value, named.petition!, visitor));
  }

  /** The petition or sign-up form of an address. */
  private async formOf(named: Named, visitor: Visitor): Promise<{ about?: About; redirect?: string }> {
    if (named.form === undefined) return this.petitionOf(named, visitor);
    return this.pageOf(named, ({ value }) => this.records.form(value, named.form!));
  }

  private async pageOf<Asking extends FoundForm>(
    named: Named,
    find: (whose: NonNullable<Found<FoundOrganization>>) => Promise<Found<Asking>>,
  ): Promise<{ about?: About<Asking>; redirect?: string }> {
    const whose = await this.found(named);
    const found = whose && (await find(whose));
    if (!found) return {};
    const kind = kindOf(named);
    const requested = `/${named.organization}/${kind}/${named.form ?? named.petition}`;
    const about = {
      organization: whose.value,
      found: found.value,
      words: wordsFor(kind, found.value, whose.value),
    };
    return found.path === requested ? { about } : { about, redirect: found.path };
  }

  private async aboutById(
    kind: Kind,
    organizationId: string,
    recordId: string,
    visitor: Visitor,
    skipCache = false,
  ): Promise<About | undefined> {
    const organization = await this.records.organizationById(organizationId);
    if (!organization) return undefined;
    const found =
      kind === 'forms'
        ? await this.records.form(organization, recordId, skipCache)
        : await this.records.petition(organization, recordId, visitor, skipCache);
    return found && { organization, found: found.value, words: wordsFor(kind, found.value, organization) };
  }

  /** Each unknown name costs a database look-up, so it counts against the address, like an invalid key. */
  private async answerUnknown(request: Request, response: Response): Promise<void> {
    const words = localeFor(request).site;
    request.errorPage = (status) => noticePage({ words, notice: words.tooMany, status });
    await this.rateLimit.countAddress(request, response);
    const { languages: _, ...page } = noticePage({ words, notice: words.notFound, status: 404 });
    sendPage(response, page);
  }

  /** Sends the page. Browsers also get errors as pages. */
  private async answer(
    response: Response,
    next: NextFunction,
    make: (named: Named, request: Request) => Promise<Answered>,
  ): Promise<void> {
    const { req: request } = response;
    const named = request.params as Named;
    if (!this.isOurs(named)) return next();
    const words = localeFor(request).site;
    if (readsPages(request))
      request.errorPage = (status) => noticePage({ words, notice: words.unavailable, status });
    const answered = await make(named, request);
    if (request.isGivenUp) return;
    if (!answered) {
      delete request.errorPage;
      return readsPages(request) ? this.answerUnknown(request, response) : next();
    }
    if ('redirect' in answered) {
      const isPost = request.method === 'POST';
      // A slug can be reused: caching redirects in both directions would create a loop.
      const cacheControl = isPost ? 'no-store' : 'no-cache';
      const [, query] = isPost ? [] : (/(\?.*)$/.exec(request.url) ?? []);
      response
        .status(isPost ? 303 : 302)
        .set({ Location: `${answered.redirect}${query ?? ''}`, 'Cache-Control': cacheControl });
      response.end();
      return;
    }
    const { languages = [], ...page } = answered;
    const isNegotiated = languages.length > 0 && languageNamed(request, languages) === undefined;
    const sent = isNegotiated
      ? { ...page, languages, headers: { ...page.headers, Vary: 'Accept-Language' } }
      : page;
    const query = request.url.slice(request.path.length);
    // Not cached with another query string, because the page contains it.
    const isPlain = query === '' || query === `?lang=${page.language}`;
    if (page.isShared && request.method === 'GET' && isPlain)
      this.quick.keep(request.url, nameOfSitePath(request.path)!, sent);
    // Pages for one person contain secrets, which their compressed length could reveal.
    sendPage(response, { ...sent, ...(page.isShared ? shared(request, sent.headers, sent.body) : {}) });
  }
}

/** Reads a petition in its own language. */
const OF_ITSELF: Visitor = { headers: {}, query: {} };

type Shown = PendingRequest<
  Pick<Requested, 'suspicion' | 'subscribe'> & Partial<Requested>,
  PersonDetails & Partial<SignerDetails>
>;

/** Shows everything that confirming would record, because people agree only to what they see. */
function confirmedBy(
  { person, isCommentPublic = false, appearance = 'NONE', subscribe }: Shown,
  { organization, found, words }: About,
  agreed: string | undefined,
): { facts: { name: string; value: string }[]; consents: string[] } {
  const { firstName, lastName, zip, city, region, country, phone, comment = null, customFields } = person;
  const { confirm, fields } = words;
  const isShown = comment && isCommentPublic && found.petition.takesComments;
  const facts: [string, string | null][] = [
    [confirm.name, [firstName, lastName].filter((part) => part !== null).join(' ')],
    [fields.zip, zip],
    [fields.city, city],
    [fields.region, region],
    [fields.country, country && countryName(words.locale, country)],
    [fields.phone, phone],
    ...questionsIn(found.petition.asked).map(({ id, name, type }): [string, string | null] => [
      name,
      answerIn(words, type, customFields[id]),
    ]),
    [confirm.comment, comment],
  ];
  return {
    facts: facts.flatMap(([name, value]) => (value === null ? [] : [{ name, value }])),
    consents: [
      ...(isShown && appearance !== 'NONE' ? [confirm.commentPublic[appearance]] : []),
      ...(subscribe ? [agreed ?? words.subscribe(organization.name)] : []),
    ],
  };
}

function answerIn(words: SiteWords, type: Question['type'], value: CustomValue | undefined): string | null {
  if (value === undefined) return null;
  if (typeof value === 'number') return formatNumber(words.dates, value);
  if (typeof value === 'boolean') return words.yes;
  if (typeof value !== 'string') return value.join(', ');
  return type === 'DATE' ? formatDate(words.dates, { dateStyle: 'long' }, new Date(value)) : value;
}

/** The icon of every page. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57d0"/><path d="M7 21.5c4-9 6-9 5.5-2-.3 4 2 4.500 4-.5s3-3 2.700.2c-.2 2.300 2 2.800 5.800-.7" fill="none" stroke="#fff" stroke-width="2.600" stroke-linecap="round" stroke-linejoin="round"/></svg>
`;

const script = (name: string) => ({
  type: 'text/javascript',
  text: () => scriptFile(`#site-browser/${name}`).text,
});
const FILES: Record<string, { type: string; text: () => Buffer | string } | undefined> = {
  'page.js': script('page'),
  'proof.js': script('proof'),
  'frame.js': script('frame'),
  'icon.svg': { type: 'image/svg+xml', text: () => ICON },
};

function sendFile(response: Response, type: string, text: Buffer | string): void {
  sendText(response, type, text, `public, max-age=${KEPT_SECONDS.script}`);
}

const PATHS: [RegExp, string][] = [
  [/^\/embed\.js$/, '/embed.js'],
  [/^\/site\/[\w.]+$/, '/site'],
  [
    /^\/[^/]+\/petitions\/[^/]+\/(embed|count\.json|paper|qr\.svg|qr\.png|sign|thanks)$/,
    '/:organization/petitions/:petition/$1',
  ],
  [/^\/[^/]+\/petitions\/[^/]+\/(confirm|sign)\/[^/]+$/, '/:organization/petitions/:petition/$1'],
  [/^\/[^/]+\/forms\/[^/]+\/(embed|qr\.svg|qr\.png|sign|thanks)$/, '/:organization/forms/:form/$1'],
  [/^\/[^/]+\/forms\/[^/]+\/confirm\/[^/]+$/, '/:organization/forms/:form/confirm'],
  [/^\/[^/]+\/(petitions|forms|posts)\/[^/]+$/, '/:organization/$1'],
  [/^\/[^/]+\/(feed\.xml|feed\.json|sitemap\.xml)$/, '/:organization/$1'],
  [/^\/[a-z0-9]+(?:-[a-z0-9]+)*$/, '/:organization'],
];

/** The name of a path in logs and metrics, without tokens and slugs. */
export function nameOfSitePath(path: string): string | undefined {
  for (const [pattern, name] of PATHS) if (pattern.test(path)) return path.replace(pattern, name);
  return undefined;
}

/** Whether the client is a browser. API clients do not accept HTML. */
function readsPages(request: Request): boolean {
  return (request.headers.accept ?? '').includes('text/html');
}

function sendText(response: Response, type: string, text: Buffer | string, caching: string): void {
  if (response.req.isGivenUp) return;
  const own = { 'Content-Type': `${type}; charset=utf-8`, 'Cache-Control': caching };
  const { headers, body } = shared(response.req, own, Buffer.isBuffer(text) ? text : Buffer.from(text));
  response.status(200).set(headers).end(body);
}
