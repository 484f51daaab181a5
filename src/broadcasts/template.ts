import { Drop, filters, Liquid, type Template as Node, Tokenizer, type Variables } from 'liquidjs';
import MarkdownIt from 'markdown-it';
import { randomBytes } from 'node:crypto';
import { formatNumber } from '#libs/pages';
import { type BroadcastFields } from './broadcast.js';
import { foreignTagsIn, withOurs } from './foreign-tags.js';
import { mailHtml } from './mail-html.js';
import {
  CONTACT_FIELDS,
  type Look,
  type MergeFields,
  ORGANIZATION_FIELDS,
  PETITION_FIELDS,
  type Rendered,
  TemplateError,
} from './merge-fields.js';

/** The texts of a broadcast, compiled and ready to be rendered for each recipient. */
export type Template = {
  subject: Node[];
  preheader: Node[];
  html: Node[];
  text: Node[];
  look: Look;
  /** The addresses whose clicks can be counted, see `mailHtml`. */
  links: string[];
};

/** No mailbox shows longer subjects; RFC 5322 would allow 998 bytes per line. */
const MAX_SUBJECT_LENGTH = 500;

/**
 * A template must not read files, run for long, or fill the memory. `renderLimit` is wall time per part in
 * milliseconds, so a busy machine needs room: 100 ms rejected valid templates at a load of 20. The rendering thread
 * limits the CPU time.
 */
const LIMITS = { parseLimit: 1_000_000, renderLimit: 1_000, memoryLimit: 1_000_000 };
/**
 * Compiling a template blocks all other requests, and its time grows with the square of these numbers: 256 KiB of
 * nothing else took ten seconds. At each of these limits, it takes a twentieth of a second. A long newsletter has a
 * few hundred merge fields and a few thousand tags.
 */
const MAX_MERGES = 1_000;
/** Limits within a single tag or output, where the time limit is not checked. Messages stay far below them. */
const MAX_MERGE_LENGTH = 2_000;
const MAX_FILTERS = 20;
const MAX_OPERANDS = 50;
const MAX_ACCESS_DEPTH = 5;
const MAX_PATH_LENGTH = 10;
/** Characters that filters read, per rendering and per call: rendering checks the time only between tags. */
const MAX_FILTERED = 1_000_000;
const MAX_FILTERED_AT_ONCE = 50_000;
/** Characters of an argument that names a field: a long path is followed for each element. */
const MAX_ARGUMENT_LENGTH = 200;
/** Addresses that are linked or recognized: each one is searched for separately. */
const MAX_ADDRESSES = 2_000;
const MAX_MARKS = 20_000;
const OPTIONS = { ...LIMITS, templates: {}, strictFilters: true, ownPropertyOnly: true, jsTruthy: true };

/** The filter of values within an address: a name could end a parameter. Authors have `url_encode`. */
const IN_ADDRESS = 'in_address';

/** Other tags read files, or write values unescaped. */
const TAGS = ['if', 'unless', 'case', 'for', 'break', 'continue', 'assign', 'capture', 'comment', 'raw', '#'];

/** A number that is written in the format of a language. Conditions and filters use the number. */
class Quantity extends Drop {
  constructor(
    private readonly number: number,
    private readonly language: string,
  ) {
    super();
  }

  override valueOf(): number {
    return this.number;
  }

  /** The value of an output. Values other than quantities stay as they are. */
  static written(this: void, value: unknown): string {
    return value instanceof Quantity ? formatNumber(value.language, value.number) : (value as string);
  }
}

const plain = engine(new Liquid({ ...OPTIONS, outputEscape: Quantity.written }));
/** Escapes each value: a person's name is never markup. */
const escaping = engine(
  new Liquid({
    ...OPTIONS,
    outputEscape(value) {
      return (filters.escape as (this: unknown, value: string) => string).call(this, Quantity.written(value));
    },
  }),
);

function engine(liquid: Liquid): Liquid {
  for (const tag of Object.keys(liquid.tags)) if (!TAGS.includes(tag)) delete liquid.tags[tag];
  // This filter outputs values unescaped.
  delete liquid.filters.raw;
  liquid.filters[IN_ADDRESS] = (value?: string | number | null) => encodeURIComponent(value ?? '');
  // These filters run a text as a template for each element, without checking the time or its fields.
  for (const filter of Object.keys(liquid.filters))
    if (filter.endsWith('_exp')) delete liquid.filters[filter];
  for (const [name, filter] of Object.entries(liquid.filters)) liquid.filters[name] = bounded(filter);
  return liquid;
}

type Filter = Liquid['filters'][string];
/** Characters that filters have read in the current rendering. Rendering is synchronous. */
let spent = 0;

/** Limits how much a filter reads. */
function bounded(filter: Filter): Filter {
  const run = typeof filter === 'function' ? filter : filter.handler;
  const handler: typeof run = function (value: unknown, ...parameters: unknown[]) {
    const size = sizeOf(value);
    spent += size;
    if (size > MAX_FILTERED_AT_ONCE || spent > MAX_FILTERED) throw new Error('memory alloc limit exceeded');
    if (
      parameters.some(
        (one) => sizeOf(one) > (Array.isArray(value) ? MAX_ARGUMENT_LENGTH : MAX_FILTERED_AT_ONCE),
      )
    )
      throw new Error('argument limit exceeded');
    return run.call(this, value, ...parameters) as unknown;
  };
  return typeof filter === 'function' ? handler : { ...filter, handler };
}

/** Counts characters and elements, including nested ones. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (!Array.isArray(value)) return 1;
  let size = value.length;
  for (const one of value) {
    if (size > MAX_FILTERED_AT_ONCE) break;
    size += typeof one === 'string' ? one.length : 1;
  }
  return size;
}

/** `fieldKeys`: the keys of the organization's custom fields. `countedAt`: see `mailHtml`. */
type Available = {
  hasPetition: boolean;
  fieldKeys: readonly string[];
  colour?: string | null;
  countedAt?: string | null;
};

const markdown = new MarkdownIt({ html: true, linkify: true });

/**
 * @param available further merge fields: those of a petition, and of custom fields.
 * @throws TemplateError
 */
export function compile(
  {
    subject,
    preheader,
    content,
    format,
  }: Pick<BroadcastFields, 'subject' | 'preheader' | 'content' | 'format'>,
  available: Available,
): Template {
  const merges = new Merges(content);
  const written = [
    ['subject', new Merges(subject, 'subject').hidden],
    ['preheader', new Merges(preheader ?? '', 'preheader').hidden],
    ['content', merges.hidden],
  ] as const;
  // First, so that errors report the place in the original text.
  const asWritten = parse(plain, content);
  if (format === 'MARKDOWN') requireFewer(/@|:\/\/|www\./gi, merges.hidden, 'addresses', MAX_ADDRESSES);
  if (format === 'MARKDOWN') requireFewer(/[<[*_`~|]/g, merges.hidden, 'characters that mark something up');
  const unsafe = format === 'MARKDOWN' ? markdown.render(merges.hidden) : merges.hidden;
  requireFewer(/</g, unsafe, 'HTML tags');
  const { colour, countedAt } = available;
  const { html, text, hidden, look, links } = mailHtml(unsafe, merges, colour, countedAt);
  const template = {
    subject: parse(plain, subject, 'subject'),
    preheader: preheader === null ? parse(plain, merges.shown(hidden)) : parse(plain, preheader, 'preheader'),
    html: parse(escaping, merges.shown(html)),
    text: parse(plain, merges.shown(text)),
    look,
    links,
  };
  // Also checks the parts of the content that sanitizing removed, which the author may have meant.
  const parts = [
    ['subject', template.subject],
    ['preheader', template.preheader],
    ['content', asWritten],
  ] as const;
  const unknown = [
    ...parts.flatMap(([part, nodes]) =>
      unknownFields(nodes, available).map((field) => ({ part, field: withOurs(field) })),
    ),
    ...written.flatMap(([part, text]) => foreignTagsIn(text).map((field) => ({ part, field }))),
  ];
  const [first] = unknown;
  if (!first) return template;
  const fields = [...new Set(unknown.map(({ field }) => field))].join(', ');
  throw new TemplateError(
    'UNKNOWN_MERGE_FIELD',
    `Unknown merge field: ${fields}. Available fields: ${knownFields(available).join(', ')}.`,
    first.part,
  );
}

function requireFewer(marks: RegExp, text: string, what: string, most = MAX_MARKS): void {
  const count = text.match(marks)?.length ?? 0;
  if (count > most) throw tooMany(what, most);
}

/** @param written one tag or output. @throws TemplateError if parsing or running it could take long. */
function requireBounded(written: string): void {
  if (written.length > MAX_MERGE_LENGTH)
    throw new TemplateError(
      'TEMPLATE_INVALID',
      `A tag or output is longer than ${MAX_MERGE_LENGTH.toLocaleString('en')} characters. Shorten it.`,
    );
  // Quoted texts are not code.
  const code = written.replace(/"[^"]*"|'[^']*'/g, '""');
  const count = (marks: RegExp) => code.match(marks)?.length ?? 0;
  if (count(/\|/g) > MAX_FILTERS) throw tooMany('filters in one output', MAX_FILTERS);
  if (count(/\b(and|or|contains)\b|[<>=]=?/g) > MAX_OPERANDS)
    throw tooMany('conditions in one tag', MAX_OPERANDS);
  if (/(?:\.\s*[\w-]+\s*){10}|(?:\[[^\]]*\]\s*){10}/.test(code))
    throw tooMany('parts in one field', MAX_PATH_LENGTH);
  let depth = 0;
  for (const character of code) {
    if (character === '[') depth += 1;
    else if (character === ']') depth -= 1;
    if (depth > MAX_ACCESS_DEPTH) throw tooMany('brackets within brackets', MAX_ACCESS_DEPTH);
  }
}

function tooMany(what: string, most: number): TemplateError {
  return new TemplateError('TEMPLATE_INVALID', `The content has too many ${what}. The limit is ${most}.`);
}

/** @throws TemplateError if it takes too much time or memory. */
export function render(template: Template, fields: MergeFields): Rendered {
  const { petition, language } = fields;
  const values = {
    ...fields,
    petition:
      petition &&
      Object.fromEntries(
        Object.entries(petition).map(([name, value]) => [
          name,
          typeof value === 'number' ? new Quantity(value, language) : value,
        ]),
      ),
  };
  spent = 0;
  try {
    return {
      subject: inOneLine(plain.renderSync(template.subject, values) as string).slice(0, MAX_SUBJECT_LENGTH),
      preheader: inOneLine(plain.renderSync(template.preheader, values) as string),
      html: escaping.renderSync(template.html, values) as string,
      text: plain.renderSync(template.text, values) as string,
      look: template.look,
    };
  } catch (error) {
    throw invalid(error);
  }
}

/** Line breaks in a subject would become headers. */
function inOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

function parse(liquid: Liquid, text: string, part?: TemplateError['part']): Node[] {
  try {
    return liquid.parse(text);
  } catch (error) {
    throw invalid(error, part);
  }
}

function invalid(error: unknown, part?: TemplateError['part']): TemplateError {
  // The first line contains the place; the others reveal nothing internal.
  const [line = ''] = error instanceof Error ? error.message.split('\n') : [];
  return new TemplateError('TEMPLATE_INVALID', `The template is invalid: ${line}.`, part);
}

function knownFields({ hasPetition, fieldKeys }: Available): string[] {
  return [
    ...CONTACT_FIELDS.map((field) => `contact.${field}`),
    ...fieldKeys.map((key) => `contact.fields.${key}`),
    ...ORGANIZATION_FIELDS.map((field) => `organization.${field}`),
    ...(hasPetition ? PETITION_FIELDS.map((field) => `petition.${field}`) : []),
    'unsubscribeUrl',
  ];
}

/** A field's parts must be literal words of the template: a computed part could name anything. */
function unknownFields(nodes: Node[], available: Available): string[] {
  const known = new Set(knownFields(available));
  const { globals }: { globals: Variables } = plain.analyzeSync(nodes);
  return Object.values(globals)
    .flat()
    .map((variable) => String(variable))
    .filter((path) => !known.has(path.replace(/\.size$/, '')));
}

/** The start of a tag or an output. */
const BEGINNING = /\{[{%]/g;

/** Values that are addresses of this server. */
const OWN_ADDRESS = /^\s*\{\{-?\s*(unsubscribeUrl|petition\.(?:url|signUrl))\s*-?\}\}/;

/** Hides a template's tags and outputs from Markdown and HTML parsers, behind words that no author can guess. */
class Merges {
  private readonly word = `m${randomBytes(8).toString('hex')}n`;
  private readonly tokens: string[] = [];
  readonly hidden: string;

  /** @throws TemplateError if a tag or an output is not closed. @param part the text's place, which errors name */
  constructor(text: string, part: TemplateError['part'] = 'content') {
    let hidden = '';
    try {
      for (const token of new Tokenizer(text).readTopLevelTokens()) {
        const written = text.slice(token.begin, token.end);
        // The text between tags and outputs contains such braces only inside `raw`.
        const isLiquid = written.startsWith('{{') || written.startsWith('{%');
        if (isLiquid) requireBounded(written);
        hidden += isLiquid ? this.hide(written) : written.replace(BEGINNING, (braces) => this.hide(braces));
      }
    } catch (error) {
      if (error instanceof TemplateError) throw new TemplateError(error.blocker, error.message, part);
      throw invalid(error, part);
    }
    if (this.tokens.length > MAX_MERGES) throw tooMany('tags and outputs', MAX_MERGES);
    this.hidden = hidden;
  }

  /** Braces written as `&#123;` or `\\{` are text, not Liquid. They are escaped, so that they never run. */
  shown(text: string): string {
    return text
      .replace(new RegExp(`\\{(?=[{%]|${this.word})`, 'g'), '{{ "{" }}')
      .replace(new RegExp(`${this.word}(\\d+)z`, 'g'), (_, n: string) => this.tokens[Number(n)]!);
  }

  private hide(written: string): string {
    return `${this.word}${this.tokens.push(written) - 1}z`;
  }

  /** Whether a text contains a tag or an output. */
  areIn(text: string): boolean {
    return text.includes(this.word);
  }

  /** Encodes the values in an address, unless the author does. */
  encodedIn(address: string): string {
    return address.replace(new RegExp(`${this.word}(\\d+)z`, 'g'), (hidden, n: string) => {
      const written = this.tokens[Number(n)]!;
      if (!written.startsWith('{{') || OWN_ADDRESS.test(written) || /\|\s*(url_|cgi_|uri_)/.test(written))
        return hidden;
      return this.hide(written.replace(/\s*-?\}\}$/, ` | ${IN_ADDRESS} }}`));
    });
  }

  /** Whether an address begins with a value that a contact or the organization chose: it could be any address. */
  beginsWithValue(address: string): boolean {
    const shown = this.shown(address);
    return shown !== address && /^\s*\{/.test(shown) && !OWN_ADDRESS.test(shown);
  }
}
