import { convert } from 'html-to-text';
import { DomUtils, parseDocument } from 'htmlparser2';
import juice from 'juice';
import sanitizeHtml from 'sanitize-html';
import { accentsOf, mailButton, trusted } from '#libs/pages';
import { type Look, TemplateError } from './merge-fields.js';
import { colourIn, readableOn, unreadable } from './mail-colours.js';

/** The tags and outputs of a template, which are hidden behind words. */
type Hidden = {
  areIn: (text: string) => boolean;
  beginsWithValue: (address: string) => boolean;
  encodedIn: (address: string) => string;
};

type Node = ReturnType<typeof parseDocument>['children'][number];
type Element = Extract<Node, { attribs: object }>;

/** Deeper elements are dropped: the parser recurses for each level. */
const MAX_DEPTH = 100;
/** Outlook for Windows shows images in the width of this attribute, whatever their style. In pixels. */
const MAX_WIDTH = 600;
/** Wider tables do not fit next to the space around the content. */
const NARROW = 536;
/** Wider images do not fit next to the space around the content on a phone of 360 pixels. */
const PHONE = 304;
const INK = '#1f2328';
const PAPER = '#ffffff';
const MAX_PREHEADER = 500;
/** Links whose clicks are counted: more than any newsletter has. */
const MAX_LINKS = 500;
/** Longer addresses may not fit into the header of a redirect. */
const LONGEST_LINK = 2_000;

const CELL = ['align', 'valign', 'width', 'height', 'bgcolor', 'colspan', 'rowspan', 'style'];
const LENGTH =
  /^-?[\d.]+(px|r?em|ex|ch|%|pt|cm|mm|in)?( (-?[\d.]+(px|r?em|ex|ch|%|pt|cm|mm|in)?|auto)){0,3}$|^auto( [\w.%-]+){0,3}$/;
const COLOUR = /^(#[\da-f]{3,8}|[a-z]+|(rgb|hsl)a?\([\d.,%/ a-z-]+\))$/i;
/** Colours, lengths and gradients, but nothing that loads a file. */
const PAINT = /^(?:[\w\s#%.,/-]|\)|(?:rgba?|hsla?|(?:repeating-)?(?:linear|radial|conic)-gradient)\()+$/i;
const WORDS = /^[\w\s,'"-]+$/;
const SIDES = ['', '-top', '-right', '-bottom', '-left'];
const styles = (names: readonly string[], pattern: RegExp) =>
  Object.fromEntries(names.map((name) => [name, [pattern]]));

const ALLOWED_STYLES = {
  ...styles(['color', 'background-color', 'border-color'], COLOUR),
  ...styles(['background', 'border-style', 'border-width', 'border-spacing'], PAINT),
  ...styles(
    SIDES.flatMap((side) => ['', '-color', '-style', '-width'].map((part) => `border${side}${part}`)),
    PAINT,
  ),
  ...styles(
    ['margin', 'padding'].flatMap((box) => SIDES.map((side) => box + side)),
    LENGTH,
  ),
  ...styles(['width', 'max-width', 'min-width', 'height', 'max-height', 'min-height'], LENGTH),
  ...styles(['border-radius', 'font-size', 'line-height', 'letter-spacing'], LENGTH),
  ...styles(['font-family'], WORDS),
  font: [/^[\w\s.,'"%/-]+$/],
  'font-weight': [/^(\d{3}|[a-z]+)$/],
  // A negative indent would push the bullets of Word off the page.
  'text-indent': [/^[\d.]+(px|em|pt|cm)?$/],
  'border-collapse': [/^(collapse|separate)$/],
  opacity: [/^0?\.?\d+$/],
  ...styles(
    [
      ...['text-align', 'vertical-align', 'text-decoration', 'text-transform', 'font-style', 'white-space'],
      ...[
        'word-break',
        'overflow',
        'visibility',
        'direction',
        'list-style',
        'list-style-type',
        'table-layout',
      ],
      ...['float', 'clear'],
    ],
    /^[a-z -]+$/,
  ),
  display: [/^(none|block|inline|inline-block|table|table-cell|table-row)$/],
};

/** A media query for widths, with its rules. */
const FOR_WIDTHS =
  /@media[^{}]{0,100}\((min|max)-width:\s*(\d+)px\)[^{}]{0,100}\{((?:[^{}]*\{[^{}]*\})*)\s*\}/g;
/** Elements of documents and later HTML become blocks, which all mail programs show. */
const BLOCKS = ['body', 'header', 'footer', 'main', 'section', 'article', 'aside', 'nav', 'address'];

/**
 * HTML for mail programs: only what is safe and what they support, styles in each element, all text readable.
 *
 * @param colour of buttons, which are links with the title `button`. null: the default
 * @param countedAt where links lead whose clicks are counted, with the number of the link appended. null: they stay as they are
 * @returns `text`: the plain text, with the original links. `hidden`: the text of the first hidden element, which newsletters use as
 *   preview text. `links`: see `countLinks`.
 * @throws TemplateError if its elements are nested too deeply for its styles to be applied.
 */
export function mailHtml(
  unsafe: string,
  merges: Hidden,
  colour: string | null = null,
  countedAt: string | null = null,
): { html: string; text: string; hidden: string; look: Look; links: string[] } {
  const { html: styled, columns } = onWidePages(unsafe);
  const { children } = parseDocument(sanitized(inlined(styled), merges, columns));
  const hidden = elementsIn(children).filter(isHidden);
  for (const element of hidden) DomUtils.removeElement(element);
  const shown = elementsIn(children);
  for (const element of shown) {
    fit(element);
    encode(element, merges);
  }
  const look = {
    hasColours: shown.some((element) => colourOf(element) !== undefined || groundOf(element) !== undefined),
    isWide: shown.some(isOwnPage),
  };
  makeReadable(children, INK, PAPER);
  for (const link of shown.filter(({ name, attribs }) => name === 'a' && attribs.title === 'button'))
    makeButton(link, colour);
  for (const table of shown.filter(isTableOfData)) table.attribs.class = 'data';
  // Newsletters have many elements that only take up space.
  const text = convert(serialized(children), TEXT).replaceAll(/\n(?:[^\S\n]*\n){2,}/g, '\n\n');
  for (const table of shown.filter(({ name }) => name === 'table')) markWidth(table);
  const links = countLinks(elementsIn(children), merges, countedAt);
  return {
    html: serialized(children),
    text,
    hidden: hidden[0] ? lineOf(DomUtils.textContent(hidden[0])) : '',
    look,
    links,
  };
}

/**
 * Replaces links that are the same for every recipient.
 *
 * @returns the addresses that they led to, in the order of their numbers, which begin with 1. Personal and very long links stay as they are.
 */
function countLinks(elements: readonly Element[], merges: Hidden, countedAt: string | null): string[] {
  const numbers = new Map<string, number>();
  for (const { name, attribs } of elements) {
    const { href = '' } = attribs;
    if (name !== 'a' || merges.areIn(href) || !/^https?:/i.test(href) || !URL.canParse(href)) continue;
    const address = new URL(href).href;
    if (address.length > LONGEST_LINK) continue;
    if (!numbers.has(address) && numbers.size < MAX_LINKS) numbers.set(address, numbers.size + 1);
    const number = numbers.get(address);
    if (countedAt !== null && number !== undefined) attribs.href = `${countedAt}/${number}`;
  }
  return [...numbers.keys()];
}

function isElement(node: Node): node is Element {
  return 'attribs' in node;
}

function elementsIn(nodes: Node[]): Element[] {
  return DomUtils.filter(isElement, nodes) as Element[];
}

function serialized(nodes: Node[]): string {
  return DomUtils.getOuterHTML(nodes, { encodeEntities: 'utf8' });
}

/** Moves style sheets into the elements, because Gmail ignores many, and Outlook for Windows supports few selectors. */
function inlined(html: string): string {
  if (!/<style/i.test(html)) return html;
  try {
    return juice(html, {
      preserveMediaQueries: false,
      preserveFontFaces: false,
      preserveKeyFrames: false,
      preservePseudos: false,
    });
  } catch (error) {
    // Its serializer recurses for each level.
    if (!(error instanceof RangeError)) throw error;
    throw new TemplateError('TEMPLATE_INVALID', 'The elements of the content are nested too deeply.');
  }
}

/**
 * Media queries get lost with the style sheets, so the page gets the look that it has on wide screens.
 *
 * @returns `columns`: the classes of elements that fill the width of a phone. The layout stacks them there.
 */
function onWidePages(html: string): { html: string; columns: Set<string> } {
  const columns = new Set<string>();
  const wide = (query: string, bound: string, width: string, rules: string) => {
    if (bound === 'min' && Number(width) > MAX_WIDTH) return query;
    const hasColumns = bound === 'min' ? /(?:^|[\s;])width:\s*[\d.]+%/ : /(?:^|[\s;])width:\s*100%/;
    for (const [, selectors = '', declarations = ''] of rules.matchAll(/([^{}]*)\{([^{}]*)\}/g))
      if (hasColumns.test(declarations))
        for (const selector of selectors.split(',')) columns.add(/\.([\w-]+)\s*$/.exec(selector)?.[1] ?? '');
    return bound === 'min' ? rules : query;
  };
  const [before = '', ...sheets] = html.split(/(?=<style\b[^<>]*>)/i);
  const shown = sheets.map((sheet) => {
    const end = sheet.search(/<\/style/i);
    return end === -1 ? sheet : sheet.slice(0, end).replace(FOR_WIDTHS, wide) + sheet.slice(end);
  });
  return { html: [before, ...shown].join(''), columns };
}

/** Removes everything that runs, loads automatically (except images), or disguises itself. */
function sanitized(html: string, merges: Hidden, columns: Set<string>): string {
  let linkColour: string | undefined;
  return sanitizeHtml(html, {
    allowedTags: [
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'div', 'span', 'br', 'hr', 'blockquote', 'pre', 'code'],
      ...['a', 'b', 'strong', 'i', 'em', 'u', 's', 'strike', 'del', 'ins', 'small', 'big', 'sub', 'sup'],
      ...['mark', 'abbr', 'q', 'cite', 'tt', 'font', 'center', 'ul', 'ol', 'li', 'dl', 'dt', 'dd', 'img'],
      ...['figure', 'figcaption', 'table', 'caption', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td'],
      ...['colgroup', 'col'],
    ],
    // `xml` is in comments of Word, unless a program has removed the comment around it.
    nonTextTags: ['script', 'style', 'textarea', 'option', 'noscript', 'title', 'xml'],
    allowedAttributes: {
      '*': ['style', 'title', 'lang', 'dir', 'align'],
      a: ['href', 'name'],
      font: ['color', 'face', 'size'],
      img: ['src', 'alt', 'width', 'height', 'border'],
      table: [...CELL, 'cellpadding', 'cellspacing', 'border', 'role'],
      tr: CELL,
      td: CELL,
      th: [...CELL, 'scope'],
      col: CELL,
      ol: ['start', 'type'],
    },
    allowedClasses: { '*': ['column'] },
    allowedStyles: { '*': ALLOWED_STYLES },
    allowedSchemes: ['http', 'https', 'mailto', 'tel'],
    allowedSchemesByTag: { img: ['http', 'https'] },
    allowProtocolRelative: false,
    nestingLimit: MAX_DEPTH,
    transformTags: {
      '*'(tagName, { bgcolor, text, link, style = '', class: classes = '', ...attribs }) {
        const isBlock = BLOCKS.includes(tagName);
        if (tagName === 'body') linkColour = link;
        const colour = tagName === 'a' ? linkColour : text;
        const safe =
          (bgcolor !== undefined && isBlock ? `background-color:${bgcolor};` : '') +
          (colour === undefined ? '' : `color:${colour};`) +
          styleWithoutFiles(style, merges);
        const isColumn =
          ['div', 'td', 'th'].includes(tagName) && classes.split(/\s+/).some((name) => columns.has(name));
        return {
          tagName: isBlock ? 'div' : tagName,
          attribs: {
            ...Object.fromEntries(
              Object.entries(attribs).filter(
                ([name, value]) =>
                  (!['href', 'src'].includes(name) || !merges.beginsWithValue(value)) &&
                  // Roman numerals end, and the converter to plain text cannot continue them.
                  (name !== 'start' || /^[1-9]\d{0,2}$/.test(value)),
              ),
            ),
            ...(bgcolor === undefined ? {} : { bgcolor }),
            ...(safe === '' ? {} : { style: safe }),
            ...(isColumn ? { class: 'column' } : {}),
          },
        };
      },
    },
  });
}

/** Keeps the colour next to a picture. A value of a contact could end a declaration, so those are left out. */
function styleWithoutFiles(style: string, merges: Hidden): string {
  const declarations = merges.areIn(style) ? style.split(';').filter((one) => !merges.areIn(one)) : [style];
  return declarations.join(';').replace(/url\([^)]*\)/gi, '');
}

function styleOf({ attribs: { style = '' } }: Element): Map<string, string> {
  return new Map(
    style.split(';').flatMap((declaration): [string, string][] => {
      const colon = declaration.indexOf(':');
      const value = declaration.slice(colon + 1).replace(/!important/i, '');
      return colon === -1 ? [] : [[declaration.slice(0, colon).trim(), value.trim()]];
    }),
  );
}

/** Newsletters hide their preview text in several ways at once, because mail programs differ. */
function isHidden(element: Element): boolean {
  const style = styleOf(element);
  const isEmpty = ['max-height', 'height'].some((name) => /^0(px)?$/.test(style.get(name) ?? ''));
  return (
    style.get('display') === 'none' ||
    style.get('visibility') === 'hidden' ||
    /^0?\.?0+$/.test(style.get('opacity') ?? '') ||
    (isEmpty && style.get('overflow') === 'hidden')
  );
}

/** Without the invisible characters that fill up a preview text. */
function lineOf(text: string): string {
  const visible = text.replace(/[\p{Default_Ignorable_Code_Point}\s]+/gu, ' ').trim();
  return [...visible].slice(0, MAX_PREHEADER).join('');
}

/** Values in addresses are encoded, also in a text that shows the address. */
function encode({ attribs, children }: Element, merges: Hidden): void {
  for (const name of ['href', 'src']) {
    const address = attribs[name];
    if (address === undefined || !merges.areIn(address)) continue;
    attribs[name] = merges.encodedIn(address);
    for (const child of children) if ('data' in child && child.data === address) child.data = attribs[name];
  }
}

/** In pixels; 0: unknown. */
function widthOf(element: Element): number {
  return pixelsIn(styleOf(element).get('width') ?? element.attribs.width);
}

function mostWidthOf(element: Element): number {
  return pixelsIn(styleOf(element).get('max-width'));
}

function pixelsIn(length = ''): number {
  const [, pixels] = /^([\d.]+)(?:px)?$/.exec(length) ?? [];
  return Number(pixels ?? 0);
}

/** Whether an element is a page with its own space and background, so that the layout adds none. */
function isOwnPage(element: Element): boolean {
  return (
    (element.name === 'table' && widthOf(element) > NARROW) ||
    (mostWidthOf(element) >= MAX_WIDTH && element.name !== 'img' && groundOf(element) !== undefined)
  );
}

/** Phones show tables in the width of the page, except tables without a width. */
function markWidth(table: Element): void {
  delete table.attribs.class;
  if ((styleOf(table).get('width') ?? table.attribs.width) === undefined) table.attribs.class = 'content';
}

/** Limits the width of images, tables and cells to that of the page. The height of an image follows its width. */
function fit(element: Element): void {
  // The name of a file of ours is its width.
  const [, own] = /\/images\/[\w-]+\/(\d+)\.(?:jpg|png)$/.exec(element.attribs.src ?? '') ?? [];
  if (own !== undefined && widthOf(element) === 0)
    element.attribs.width = String(Math.min(Number(own), MAX_WIDTH));
  if (element.name === 'pre') setStyle(element, 'white-space', 'pre-wrap');
  if (!['img', 'table', 'td', 'th'].includes(element.name)) return;
  // The limit of an image would let it leave a narrow page.
  if (element.name === 'img' && mostWidthOf(element) >= (widthOf(element) || NARROW))
    setStyle(element, 'max-width', '100%');
  const most = Math.max(widthOf(element), pixelsIn(element.attribs.width));
  if (element.name === 'img' && most > PHONE && styleOf(element).has('height'))
    setStyle(element, 'height', 'auto');
  if (widthOf(element) <= MAX_WIDTH) return;
  element.attribs.width = String(MAX_WIDTH);
  if (element.name === 'img') delete element.attribs.height;
  setStyle(element, 'width', element.name === 'img' ? '100%' : `${MAX_WIDTH}px`);
  if (element.name === 'img') setStyle(element, 'height', 'auto');
}

function setStyle(element: Element, name: string, value: string): void {
  const style = styleOf(element).set(name, value);
  element.attribs.style = [...style].map(([property, set]) => `${property}:${set}`).join(';');
}

function colourOf(element: Element): string | undefined {
  return colourIn(styleOf(element).get('color') ?? element.attribs.color ?? '');
}

function groundOf(element: Element): string | undefined {
  const style = styleOf(element);
  return (
    colourIn(style.get('background-color') ?? '') ??
    colourIn(style.get('background') ?? '') ??
    colourIn(element.attribs.bgcolor ?? '')
  );
}

/**
 * Corrects text that has the colour of its background, such as white text on a picture that is not shown.
 *
 * @param text and `ground`: the inherited colours.
 */
function makeReadable(nodes: Node[], text: string, ground: string): void {
  for (const node of nodes) {
    if (!isElement(node)) continue;
    const on = groundOf(node) ?? ground;
    let colour = colourOf(node) ?? text;
    if (unreadable(colour, on)) {
      colour = readableOn(on);
      setStyle(node, 'color', colour);
    }
    // Outlook for Windows shows no gradients.
    if (/gradient/i.test(styleOf(node).get('background') ?? '')) {
      setStyle(node, 'background-color', on);
      const { attribs } = node;
      const [, gradient] = /(?:^|;)\s*(background:[^;]*)/.exec(attribs.style!)!;
      attribs.style = `${attribs.style!.replace(gradient!, '')};${gradient!.replace('background:', 'background-image:')}`;
    }
    makeReadable(node.children, colour, on);
  }
}

/** Replaces the link, and the paragraph around it, because a paragraph cannot contain a table. */
function makeButton(link: Element, colour: string | null): void {
  const { parent } = link;
  const isOnly = parent && isElement(parent) && parent.name === 'p' && parent.children.length === 1;
  const text = trusted(DomUtils.getInnerHTML(link, { encodeEntities: 'utf8' }));
  const { children } = parseDocument(
    String(mailButton(link.attribs.href ?? '', text, accentsOf(colour).light)),
  );
  DomUtils.replaceElement(isOnly ? parent : link, children.find(isElement)!);
}

/**
 * Tables that arrange the content contain other tables, or have neither headings nor cells with borders. Tags between their rows
 * belong to no cell.
 */
function isTableOfData(table: Element): boolean {
  if (table.name !== 'table') return false;
  const inside = elementsIn(table.children);
  const cells = inside.filter(({ name }) => name === 'th' || name === 'td');
  const isData =
    Number(table.attribs.border ?? 0) > 0 ||
    cells.some(({ name }) => name === 'th') ||
    (cells.length > 1 &&
      cells.every((cell) => /(?:^|;)\s*border(?:-left)?:\s*[^0n\s]/.test(cell.attribs.style ?? '')));
  const rows = [table, ...inside].filter(({ name }) => /^(table|thead|tbody|tfoot|tr)$/.test(name));
  const between = rows.flatMap(({ children }) => children).filter((node) => 'data' in node);
  return (
    isData &&
    inside.every(({ name }) => name !== 'table') &&
    between.every((node) => DomUtils.textContent(node).trim() === '')
  );
}

/** Converts the HTML to plain text, with each address after its link text. */
const TEXT: Parameters<typeof convert>[1] = {
  wordwrap: false,
  formatters: {
    alt(element, _walk, builder) {
      const { alt = '' } = element.attribs as { alt?: string };
      if (alt.trim() !== '') builder.addInline(alt);
    },
    data(table, walk, builder, options) {
      const captions = table.children.filter(({ name }: { name?: string }) => name === 'caption');
      if (captions.length > 0) builder.openBlock({ leadingLineBreaks: 2 });
      walk(captions, builder);
      if (captions.length > 0) builder.closeBlock({ trailingLineBreaks: 1 });
      builder.options.formatters.dataTable!(table, walk, builder, options);
    },
  },
  selectors: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    {
      selector: 'a',
      options: {
        hideLinkHrefIfSameAsText: true,
        linkBrackets: ['<', '>'] as [string, string],
        // Without the subject and the text of a message.
        pathRewrite: (address: string) => address.replace(/^([^?:/]+@[^?]+)\?.*/s, '$1'),
      },
    },
    { selector: 'img', format: 'alt' },
    ...['td', 'th', 'dt', 'dd', 'caption'].map((selector) => ({ selector, format: 'block' })),
    { selector: 'table.data', format: 'data', options: { uppercaseHeaderCells: false } },
  ],
};
