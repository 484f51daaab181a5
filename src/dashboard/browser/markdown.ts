/** Turns Markdown into a document of the editor and back. Markdown remains the stored form. */
import MarkdownIt from 'markdown-it';
import {
  defaultMarkdownParser,
  defaultMarkdownSerializer,
  MarkdownParser,
  MarkdownSerializer,
  type MarkdownSerializerState,
  schema as basic,
} from 'prosemirror-markdown';
import { Fragment, Node, Schema, type TagParseRule } from 'prosemirror-model';

const HEADING = { ...basic.spec.nodes.get('heading')!, content: '(text | image | merge)*' };

/** The names of merge fields by their path, such as `contact.firstName`. The page has them in a table. */
export const mergeNames = new Map<string, string>();
const nameOf = (tag: string): string => mergeNames.get(/^\{\{\s*([\w.]+)/.exec(tag)?.[1] ?? '') ?? tag;

/** Lists are written without empty lines between their items, wherever they come from. */
const tight = (name: 'bullet_list' | 'ordered_list', tag: string) => {
  const { attrs, ...spec } = basic.spec.nodes.get(name)!;
  const parse: TagParseRule = {
    tag,
    getAttrs: (list) => ({ tight: true, order: Number(list.getAttribute('start') ?? 1) }),
  };
  return { ...spec, attrs: { ...attrs, tight: { default: true } }, parseDOM: [parse] };
};

type Blocks =
  | 'paragraph'
  | 'heading'
  | 'blockquote'
  | 'bullet_list'
  | 'ordered_list'
  | 'list_item'
  | 'code_block';
type Inlines = 'text' | 'hard_break' | 'image' | 'merge';
type Marks = 'strong' | 'em' | 'strike' | 'link' | 'code';

/** `merge` is a merge field or a tag of a template. */
export const schema = new Schema<'doc' | 'horizontal_rule' | Blocks | Inlines, Marks>({
  nodes: basic.spec.nodes
    .update('heading', HEADING)
    .update('bullet_list', tight('bullet_list', 'ul'))
    .update('ordered_list', tight('ordered_list', 'ol'))
    .addToEnd('merge', {
      inline: true,
      group: 'inline',
      atom: true,
      attrs: { tag: {} },
      leafText: ({ attrs }) => attrs.tag as string,
      toDOM: ({ attrs: { tag } }) => [
        'span',
        { class: 'merge', 'data-merge': tag as string, title: tag as string },
        nameOf(tag as string),
      ],
      parseDOM: [{ tag: 'span[data-merge]', getAttrs: (element) => ({ tag: element.dataset.merge }) }],
    }),
  // Around links.
  marks: basic.spec.marks.addToStart('strike', {
    toDOM: () => ['s', 0],
    parseDOM: [{ tag: 's' }, { tag: 'del' }, { style: 'text-decoration=line-through' }],
  }),
});

/** Within a paragraph, and no longer than the server allows. */
const INSIDE = '(?:(?!\\n[ \\t]*\\n)[^]){0,2000}?';
const TAG = new RegExp(`\\{\\{${INSIDE}\\}\\}|\\{%${INSIDE}%\\}`, 'g');

/** Merge fields, each represented by one character of a private range, which parsers leave as it is. */
class Merges {
  private static readonly FIRST = 0xe000;
  static readonly CHARACTER = /[\ue000-\uf8ff]/;
  private readonly tags: string[] = [];

  hide(text: string): string {
    return text.replace(TAG, (tag) => {
      if (!this.tags.includes(tag)) this.tags.push(tag);
      return String.fromCharCode(Merges.FIRST + this.tags.indexOf(tag));
    });
  }

  show(text: string): string {
    const characters = new RegExp(Merges.CHARACTER, 'g');
    return text.replace(characters, (one) => this.tags[one.charCodeAt(0) - Merges.FIRST] ?? '');
  }
}

type Token = ReturnType<InstanceType<typeof MarkdownIt>['parse']>[number];

const asAddress = (address: string) => address.replace(/[\s<>\\]/g, encodeURIComponent);

/**
 * Markdown as public pages read it, or, with `html`, as emails do. `texts`: the texts of blocks as they were read or written.
 * Editing a block replaces it, and leaves the others as they are.
 */
function formatWith(html: boolean) {
  const markdown = new MarkdownIt({ html, linkify: true });
  markdown.normalizeLink = asAddress;
  markdown.normalizeLinkText = (text) => text;
  markdown.core.ruler.push('merge', ({ tokens, Token }) => {
    for (const token of tokens) {
      token.children = (token.children ?? []).flatMap((child) => {
        if (child.type !== 'text') return child;
        const parts = child.content.split(new RegExp(`(${Merges.CHARACTER.source})`)).filter(Boolean);
        return parts.map((content) => {
          const type = Merges.CHARACTER.test(content) ? 'merge' : 'text';
          return Object.assign(new Token(type, '', 0), { content });
        });
      });
    }
  });
  // A line break within a paragraph means a space.
  markdown.renderer.rules.softbreak = () => ' ';
  markdown.renderer.rules.merge = (tokens, index) => tokens[index]!.content;
  const parser = new MarkdownParser(schema, markdown, {
    ...defaultMarkdownParser.tokens,
    s: { mark: 'strike' },
    image: {
      node: 'image',
      getAttrs: (token: Token) => ({
        src: token.attrGet('src'),
        title: token.attrGet('title'),
        alt: markdown.renderer.renderInlineAsText(token.children!, markdown.options, {}),
      }),
    },
    merge: { node: 'merge', getAttrs: ({ content }: Token) => ({ tag: content }) },
  });
  return { markdown, parser, texts: new WeakMap<Node, string>() };
}
const PAGES = formatWith(false);
const MAILS = formatWith(true);

const { nodes, marks } = defaultMarkdownSerializer;

/** Only lists with different marks stay apart. Paragraphs without text are not written. */
function isEvenList(node: Node, parent: Node, index: number): boolean {
  let isEven = true;
  for (let n = index - 1; n >= 0; n -= 1) {
    const before = parent.child(n);
    if (before.type === node.type) isEven = !isEven;
    else if (before.content.size > 0 || !before.isTextblock) break;
  }
  return isEven;
}

/** Escapes what would be markup. `isFirst`: at the start of a line. */
function escaped(state: MarkdownSerializerState, text: string, isFirst: boolean): string {
  const whole = state
    .esc(text.replaceAll('\n', ' '), isFirst)
    .replace(/<(?=[a-z/!?])|&(?=#?\w+;)|(?<=^|\s)#+$/gi, '\\$&');
  if (!isFirst) return whole;
  return whole.replace(/^(\d+)([.)])(?=\s|$)/, '$1\\$2').replace(/^(?:[=|:][=|: -]*|\+)$/, '\\$&');
}

/** Addresses that Markdown would read differently get marks of their own: those with an underscore, for example. */
function writeText(state: MarkdownSerializerState, node: Node): void {
  const text = node.text!;
  const { out, atBlockStart, inAutolink } = state as unknown as {
    out: string;
    atBlockStart: boolean;
    inAutolink?: boolean;
  };
  if (inAutolink === true) return state.text(text, false);
  const isLinked = node.marks.some(({ type }) => type.name === 'link');
  const addresses = (isLinked ? null : PAGES.markdown.linkify.match(text)) ?? [];
  let written = '';
  let end = 0;
  const write = (upTo: number) => {
    const isAfterBreak = written === '' && out.endsWith('\n');
    const part = text.slice(end, upTo);
    written += escaped(
      state,
      isAfterBreak ? part.trimStart() : part,
      end === 0 && (atBlockStart || isAfterBreak),
    );
    end = upTo;
  };
  for (const { schema: protocol, raw, index, lastIndex } of addresses) {
    if (!/^https?:$/.test(protocol) || raw.includes('\\') || escaped(state, raw, false) === raw) continue;
    write(index);
    written += `<${raw}>`;
    end = lastIndex;
  }
  write(text.length);
  state.text(written, false);
}

const link =
  (part: 'open' | 'close'): MarkdownSerializer['marks'][string]['open'] =>
  (state, mark, parent, index) => {
    const href = asAddress(mark.attrs.href as string);
    const written = href === mark.attrs.href ? mark : mark.type.create({ ...mark.attrs, href });
    return (marks.link![part] as (...given: unknown[]) => string)(state, written, parent, index);
  };

const serializer = new MarkdownSerializer(
  {
    ...nodes,
    text: writeText,
    merge: (state, { attrs }) => state.write(attrs.tag as string),
    image: (state, { attrs }) => {
      const { src, title, alt } = attrs as Record<string, string | null>;
      const quoted = title ? ` "${title.replace(/["\\]/g, '\\$&')}"` : '';
      // Our pages leave out what is escaped in an alternative text.
      const plain = (alt ?? '')
        .replaceAll('[', '(')
        .replaceAll(']', ')')
        .replace(/[\\`*~<>]|\n/g, ' ');
      state.write(`![${plain}](${asAddress(src!).replace(/[()]/g, '\\$&')}${quoted})`);
    },
    paragraph: (state, node, parent, index) => {
      const [spaces = ''] = /^[ \t]*/.exec(node.textBetween(0, node.content.size, '', '.')) ?? [];
      nodes.paragraph!(state, node.cut(spaces.length), parent, index);
    },
    bullet_list: (state, node, parent, index) => {
      const mark = isEvenList(node, parent, index) ? '- ' : '* ';
      state.renderList(node, '  ', () => mark);
    },
    ordered_list: (state, node, parent, index) => {
      const mark = isEvenList(node, parent, index) ? '. ' : ') ';
      const first = node.attrs.order as number;
      const width = String(first + node.childCount - 1).length;
      state.renderList(node, ' '.repeat(width + 2), (n) => String(first + n).padStart(width) + mark);
    },
  },
  {
    ...marks,
    link: { open: link('open'), close: link('close'), mixable: true },
    strike: { open: '~~', close: '~~', mixable: true, expelEnclosingWhitespace: true },
  },
);

/** Changes every text and attribute. */
function withStrings(document: Node, change: (text: string) => string): Node {
  const changed: unknown = JSON.parse(JSON.stringify(document), (_, value: unknown) =>
    typeof value === 'string' ? change(value) : value,
  );
  return Node.fromJSON(schema, changed);
}

/**
 * @param hasMerges whether the text is a template of an email.
 * @returns undefined if the editor would change what the text means, for example a table's.
 */
export function documentOf(text: string, hasMerges: boolean): Node | undefined {
  if (Merges.CHARACTER.test(text)) return undefined;
  const merges = new Merges();
  const hide = (one: string) => (hasMerges ? merges.hide(one) : one);
  const { markdown, parser, texts } = hasMerges ? MAILS : PAGES;
  try {
    const hidden = hide(text);
    const document = withStrings(parser.parse(hidden), (one) => merges.show(one));
    const shown = markdown.render(hidden);
    if (markdown.render(hide(markdownOf(document, hasMerges))) !== shown) return undefined;
    const lines = hidden.split('\n');
    const blocks = markdown
      .parse(hidden, {})
      .filter(({ level, nesting }) => level === 0 && nesting >= 0)
      .map(({ map }) =>
        lines
          .slice(...map!)
          .join('\n')
          .trimEnd(),
      );
    // Definitions of links are no blocks.
    if (markdown.render(blocks.join('\n\n')) === shown && blocks.length === document.childCount)
      blocks.forEach((block, n) => texts.set(document.child(n), merges.show(block)));
    return document;
  } catch {
    // The schema does not have this markup.
    return undefined;
  }
}

export function markdownOf(document: Node, hasMerges: boolean): string {
  const merges = new Merges();
  const hide = (one: string) => {
    const readable = one.replaceAll(new RegExp(Merges.CHARACTER, 'g'), '');
    return hasMerges ? merges.hide(readable) : readable;
  };
  const written = (blocks: readonly Node[]) =>
    merges.show(serializer.serialize(withStrings(document.copy(Fragment.from(blocks)), hide)));
  if (hasListsInRow(document)) return written(document.children);
  const { texts } = hasMerges ? MAILS : PAGES;
  const parts = document.children.map((block) => {
    const text = texts.get(block) ?? written([block]);
    texts.set(block, text);
    return text;
  });
  return parts.filter((text) => text !== '').join('\n\n');
}

/** Whether a list is followed by a block that would be read as a part of it. */
function hasListsInRow({ children }: Node): boolean {
  const shown = children.filter((block) => !block.isTextblock || block.content.size > 0);
  return shown.some((block, n) => {
    const before = shown[n - 1]?.type.name ?? '';
    return before.endsWith('_list') && (block.type.name === before || block.type.name === 'code_block');
  });
}
