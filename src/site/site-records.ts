import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { TtlCache } from '#libs/database';
import { type Browser, languageAmong, languageOf, richText, timeZoneNamed } from '#libs/pages';
import { compare } from '#libs/projections';
import { type Resource, type ResourceRecord, Resources } from '#libs/resources';
import { isId } from '#libs/rpc';
import { images } from '../images/index.js';
import {
  organization as organizationStream,
  OrganizationSlugs,
  senderOf,
  SiteAddress,
} from '../organizations/index.js';
import { CustomFields } from '../fields/index.js';
import { forms } from '../forms/index.js';
import {
  type Confirmation,
  inLanguage,
  OfflineSignatures,
  type PetitionFields,
  type PetitionForm,
  petitions,
  PublicComments,
  translationIn,
} from '../petitions/index.js';
import { posts, updatesOf } from '../posts/index.js';
import { PublicAddress } from '../config/index.js';
import { localeNear } from '#locales';
import { type FeedPost } from './feeds.js';
import {
  type Asked,
  type Picture,
  type PostSubject,
  type SiteOrganization,
  type SiteForm,
  type SitePetition,
  type SitePost,
  type ThankYou,
  TRANSLATED_TEXTS,
} from './site-types.js';

/** Limits of comments, updates and records on a page, and of records in a feed. */
const MAX_COMMENTS = 10;
const MAX_UPDATES = 10;
const MAX_LISTED = 100;
const MAX_IN_FEED = 50;
/** Sign-up forms that the page of an organization links to. */
const MAX_FORMS = 10;

export type FoundOrganization = SiteOrganization & { id: string };
/** The kinds of pages with a form, as their paths name them. */
export type Kind = 'petitions' | 'forms';
export type FoundForm = { id: string; petition: SiteForm };
export type FoundPetition = { id: string; petition: SitePetition };
export type FoundPost = { id: string; post: SitePost; petition: PostSubject | null };

type Published = {
  petitions: FoundPetition[];
  posts: FeedPost[];
  forms: Pick<SiteForm, 'title' | 'path'>[];
};

/** A record, and `path`, its canonical address, which can differ from the requested one. */
export type Found<Value> = { value: Value; path: string } | undefined;

/** A request, with the language that its address names. */
export type Visitor = Browser & { query: { lang?: unknown } };

/** Reads the records that pages show from the projections, each at most once per second. */
@Injectable()
export class SiteRecords {
  private readonly organizations = new TtlCache<Found<FoundOrganization>>();
  private readonly petitionPages = new TtlCache<Found<FoundPetition>>();
  private readonly formPages = new TtlCache<Found<FoundForm>>();
  private readonly postPages = new TtlCache<Found<FoundPost>>();
  private readonly published = new TtlCache<Published>();

  constructor(
    private readonly resources: Resources,
    private readonly records: RecordReader,
    private readonly slugs: OrganizationSlugs,
    private readonly addresses: SiteAddress,
    private readonly comments: PublicComments,
    private readonly offline: OfflineSignatures,
    private readonly customFields: CustomFields,
    private readonly address: PublicAddress,
  ) {}

  /** @param name its slug, a former slug of the last year, or its id. */
  organization(name: string): Promise<Found<FoundOrganization>> {
    return this.organizations.get(name, async () => {
      // Ids are never slugs.
      const id = isId(name) ? name : await this.slugs.find(name);
      return id === undefined ? undefined : this.findOrganization(id);
    });
  }

  async organizationById(id: string): Promise<FoundOrganization | undefined> {
    return (await this.organizations.get(id, () => this.findOrganization(id)))?.value;
  }

  /**
   * @param name its slug, a former slug of the last year, or its id. Drafts are not found.
   * @param visitor who reads it in their language.
   * @param skipCache reads the current record, so that people see their own change.
   */
  async petition(
    organization: FoundOrganization,
    name: string,
    visitor: Visitor,
    skipCache = false,
  ): Promise<Found<FoundPetition>> {
    const found = await this.petitionIn(organization, name, null, skipCache);
    if (!found) return undefined;
    const { language, languages } = found.value.petition;
    const wanted = languageNamed(visitor, languages) ?? languageOf(visitor, languages);
    return wanted === language ? found : this.petitionIn(organization, name, wanted, skipCache);
  }

  /** @param language null: its own. */
  private petitionIn(
    organization: FoundOrganization,
    name: string,
    language: string | null,
    skipCache: boolean,
  ): Promise<Found<FoundPetition>> {
    const key = `${organization.id} ${name} ${language ?? ''}`;
    if (skipCache) this.petitionPages.forget(key);
    return this.petitionPages.get(key, async () => {
      const id = await this.idOf(petitions, organization.id, name);
      const record = id && (await this.resources.findAt(petitions, organization.id, id));
      if (!record || record.status === 'DRAFT') return undefined;
      const value = await this.petitionOf(organization, record, language);
      return { value, path: value.petition.path };
    });
  }

  /** @param name its slug, a former slug of the last year, or its id. */
  form(organization: FoundOrganization, name: string, skipCache = false): Promise<Found<FoundForm>> {
    const key = `${organization.id} ${name}`;
    if (skipCache) this.formPages.forget(key);
    return this.formPages.get(key, async () => {
      const id = await this.idOf(forms, organization.id, name);
      const record = id && (await this.resources.findAt(forms, organization.id, id));
      if (!record) return undefined;
      const { path, url, ...own } = await this.askedOn(
        organization,
        'forms',
        record,
        record as unknown as PetitionForm,
      );
      const petition = {
        ...own,
        path,
        url,
        description: record.text as string | null,
        isOpen: record.status === 'PUBLISHED',
        closesAt: null,
        takesComments: false,
      };
      return { value: { id, petition }, path };
    });
  }

  post(organization: FoundOrganization, name: string): Promise<Found<FoundPost>> {
    return this.postPages.get(`${organization.id} ${name}`, async () => {
      const id = await this.idOf(posts, organization.id, name);
      const record = id && (await this.resources.findAt(posts, organization.id, id));
      if (!record || record.status !== 'PUBLISHED') return undefined;
      const petition = await this.subjectOf(organization, record);
      const value = { id: record.id, post: await this.postOf(organization, record), petition };
      return { value, path: value.post.path };
    });
  }

  /** Published records, newest first. */
  all(organization: FoundOrganization): Promise<Published> {
    return this.published.get(organization.id, async () => {
      const [open, closed, written, signUps] = await Promise.all([
        this.list(petitions, organization.id, 'PUBLISHED', MAX_LISTED),
        this.list(petitions, organization.id, 'CLOSED', MAX_LISTED),
        this.list(posts, organization.id, 'PUBLISHED', MAX_IN_FEED),
        this.resources.list(
          forms,
          { organizationId: organization.id, limit: MAX_FORMS, sort: 'createdAt' },
          [],
        ),
      ]);
      return {
        forms: signUps.records
          .filter(({ status }) => status === 'PUBLISHED')
          .map((record) => ({
            title: record.title as string,
            path: organization.path + pathOf('forms', record),
          })),
        petitions: await Promise.all(
          [...open, ...closed].map((record) => this.petitionOf(organization, record, null, true)),
        ),
        posts: newestFirst(
          await Promise.all(
            written.map(async (record) => ({
              ...(await this.postOf(organization, record)),
              id: record.id,
            })),
          ),
        ),
      };
    });
  }

  private async findOrganization(id: string): Promise<Found<FoundOrganization>> {
    const { state } = await this.records.look(organizationStream, id, id);
    if (state.status !== 'standing') return undefined;
    const { slug, name, website, colour, imageId, privacyUrl } = state;
    // An instance with older time zone data shows UTC.
    const timeZone = timeZoneNamed(state.timeZone) ?? 'UTC';
    const { language } = await senderOf(this.records, id);
    const path = `/${slug ?? id}`;
    const url = this.addresses.with(id, slug)!;
    const logo = await this.picture(id, imageId);
    return { value: { id, name, path, url, website, language, colour, logo, privacyUrl, timeZone }, path };
  }

  private async idOf(resource: Resource, organizationId: string, name: string): Promise<string | undefined> {
    return isId(name) ? name : this.resources.findBySlug(resource, organizationId, name);
  }

  /** @param language null: its own. @param isListed omits what only its own page shows. */
  private async petitionOf(
    organization: FoundOrganization,
    record: ResourceRecord,
    language: string | null,
    isListed = false,
  ): Promise<FoundPetition> {
    const stored = record as ResourceRecord &
      PetitionFields & { signatures: number; offlineSignatures: number | null };
    // Only lists have it.
    const offline = stored.offlineSignatures ?? (await this.offline.total(organization.id, record.id));
    const own = stored.language ?? organization.language;
    const languages = [own, ...Object.keys(stored.translations)];
    const translation = language === null ? undefined : translationIn(stored, language);
    const shown = translation && language !== null ? language : own;
    const left = translation ? TRANSLATED_TEXTS.filter((text) => translation[text] === undefined) : [];
    const translated = inLanguage(stored, shown);
    const { id, description, ask, target, content, goal, signatures, form, comments } = translated;
    const page = await this.askedOn(organization, 'petitions', translated, form, isListed, {
      language: shown,
      languages,
      foreign: Object.fromEntries(left.map((text) => [text, own])),
      consent: translation && translation.consent === undefined ? own : shown,
    });
    return {
      id,
      petition: {
        ...page,
        description,
        ask,
        target,
        content: isListed ? null : await richText.show(content),
        goal,
        signatures: signatures + offline,
        isOpen: isOpen(record),
        outcome: await outcomeOf(translated, isListed),
        closesAt: translated.closesAt === null ? null : new Date(translated.closesAt),
        image: await this.picture(organization.id, translated.imageId),
        // Without a confirmed address, anyone could publish a comment under another person's name.
        takesComments: comments !== 'OFF' && page.isConfirmed,
        comments:
          comments === 'OFF' || isListed
            ? []
            : await this.comments.newest(organization.id, id, comments, MAX_COMMENTS),
        updates: isListed ? [] : await this.updatesOf(organization, id),
      },
    };
  }

  /**
   * What pages of petitions and sign-up forms have in common.
   *
   * @param languages see `SiteForm`. `consent`: the language of the organization's own text.
   */
  private async askedOn(
    organization: FoundOrganization,
    kind: Kind,
    record: ResourceRecord,
    form: PetitionForm,
    isListed = false,
    { consent, ...languages }: Pick<SiteForm, 'language' | 'languages' | 'foreign'> & { consent: string } = {
      language: organization.language,
      languages: [organization.language],
      foreign: {},
      consent: organization.language,
    },
  ) {
    const end = pathOf(kind, record);
    const { site } = localeNear(languages.language, organization.language);
    return {
      ...languages,
      title: (record.title as string | null) ?? site.signUp.title,
      path: organization.path + end,
      url: organization.url + end,
      isConfirmed: (record.confirmation as Confirmation) === 'EMAIL',
      asked: isListed ? [] : await this.asked(organization.id, form),
      consent: {
        ...(form.consent.text === null
          ? { text: site.subscribe(organization.name), language: site.locale }
          : { text: form.consent.text, language: consent }),
        required: form.consent.required,
      },
      thankYou: isListed ? null : await thankYouOf(record),
    };
  }

  /** Without fields that were deleted since. */
  private async asked(organizationId: string, { fields }: PetitionForm): Promise<Asked[]> {
    const isPlain = fields.every((one) => 'field' in one);
    const known = isPlain ? [] : await this.customFields.definitions(organizationId);
    return fields.flatMap((one): Asked[] => {
      if ('field' in one) return [one];
      return known
        .filter(({ id }) => id === one.fieldId)
        .map((custom) => ({ ...custom, required: one.required }));
    });
  }

  private async updatesOf(
    organization: FoundOrganization,
    petitionId: string,
  ): Promise<SitePetition['updates']> {
    const query = { organizationId: organization.id, limit: MAX_UPDATES, sort: '-createdAt' };
    const { records } = await this.resources.list(posts, query, [
      updatesOf(petitionId),
      compare('status = ?', 'PUBLISHED'),
    ]);
    return newestFirst(
      records.map((record) => ({
        title: record.title as string,
        path: organization.path + pathOf('posts', record),
        description: record.description as string | null,
        publishedAt: new Date(record.publishedAt as string),
      })),
    );
  }

  /** The petition that the post is about. */
  private async subjectOf(
    organization: FoundOrganization,
    post: ResourceRecord,
  ): Promise<PostSubject | null> {
    if (post.petitionId === null) return null;
    const record = await this.resources.findAt(petitions, organization.id, post.petitionId as string);
    if (!record || record.status === 'DRAFT') return null;
    const path = organization.path + pathOf('petitions', record);
    return { title: record.title as string, path, isOpen: isOpen(record) };
  }

  private async postOf(organization: FoundOrganization, record: ResourceRecord): Promise<SitePost> {
    const end = pathOf('posts', record);
    return {
      title: record.title as string,
      path: organization.path + end,
      url: organization.url + end,
      description: record.description as string | null,
      content: await richText.show(record.content),
      image: await this.picture(organization.id, record.imageId as string | null),
      publishedAt: new Date(record.publishedAt as string),
    };
  }

  private async picture(organizationId: string, imageId: string | null): Promise<Picture | null> {
    const image = imageId === null ? undefined : await this.resources.findAt(images, organizationId, imageId);
    if (!image) return null;
    const {
      alt,
      width,
      height,
      url: path,
      variants,
    } = image as unknown as {
      alt: string | null;
      width: number;
      height: number;
      url: string;
      variants: { url: string; width: number; type: string }[];
    };
    return {
      alt,
      width,
      height,
      path,
      url: this.address.url + path,
      variants: variants.map((variant) => ({ ...variant, path: variant.url })),
    };
  }

  private async list(
    resource: typeof petitions | typeof posts,
    organizationId: string,
    status: string,
    limit: number,
  ): Promise<ResourceRecord[]> {
    const query = { organizationId, limit, sort: '-createdAt', include: 'content' };
    const page = await this.resources.list(resource, query, [compare('status = ?', status)]);
    return page.records;
  }
}

/** Relative to the organization. */
function pathOf(kind: Kind | 'posts', { id, slug }: ResourceRecord): string {
  return `/${kind}/${(slug as string | null) ?? id}`;
}

/** Whether a petition can be signed. */
function isOpen({ status, closesAt }: ResourceRecord): boolean {
  return status === 'PUBLISHED' && (closesAt === null || Date.parse(closesAt as string) > Date.now());
}

function newestFirst<Post extends { publishedAt: Date }>(all: Post[]): Post[] {
  return all.toSorted((one, other) => Number(other.publishedAt) - Number(one.publishedAt));
}

async function outcomeOf(
  { outcome, outcomeText }: Pick<PetitionFields, 'outcome' | 'outcomeText'>,
  isListed: boolean,
): Promise<SitePetition['outcome']> {
  if (outcome === null) return null;
  return { is: outcome, text: isListed ? null : await richText.show(outcomeText) };
}

async function thankYouOf({ thankYou }: ResourceRecord): Promise<ThankYou | null> {
  if (!thankYou) return null;
  const { title, text, nextUrl, nextLabel } = thankYou as Record<string, string | null>;
  const next = nextUrl && nextLabel ? { url: nextUrl, label: nextLabel } : null;
  return { title: title ?? null, text: await richText.show(text), next };
}

/** The language that the address of a page names, if the page exists in it. */
export function languageNamed({ query }: Visitor, languages: readonly string[]): string | undefined {
  return typeof query.lang === 'string' ? languageAmong(languages, query.lang) : undefined;
}
