/** Turns Markdown into a document of the editor and back. Markdown remains the stored form. */
import MarkdownIt from 'markdown-it';
import {
  defaultMarkdownParser,
  defaultMarkdownSerializer,
  MarkdownParser,
  MarkdownSerializer,
  schema as basic,
} from 'prosemirror-markdown';
import { Node, Schema, type TagParseRule } from 'prosemirror-model';

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
  marks: basic.spec.marks.addToEnd('strike', {
    toDOM: () => ['s', 0],
    parseDOM: [{ tag: 's' }, { tag: 'del' }, { style: 'text-decoration=line-through' }],
  }),
});

/** Merge fields, each represented by one character of a private range, which parsers leave as it is. */
class Merges {
  private static readonly FIRST = 0xe000;
  static readonly CHARACTER = /[\ue000-\uf8ff]/;
  private readonly tags: string[] = [];

  hide(text: string): string {
    return text.replace(/\{\{.*?\}\}|\{%.*?%\}/g, (tag) => {
      if (!this.tags.includes(tag)) this.tags.push(tag);
      return String.fromCharCode(Merges.FIRST + this.tags.indexOf(tag));
    });
  }

  show(text: string): string {
    const characters = new RegExp(Merges.CHARACTER, 'g');
    return text.replace(characters, (one) => this.tags[one.charCodeAt(0) - Merges.FIRST] ?? '');
  }
}

// The same options as for public pages and emails. Addresses stay as typed, because they can contain merge fields.
const markdown = new MarkdownIt({ html: false, linkify: true });
markdown.normalizeLink = (address) => address;
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
  merge: { node: 'merge', getAttrs: ({ content }) => ({ tag: content }) },
});

const serializer = new MarkdownSerializer(
  {
    ...defaultMarkdownSerializer.nodes,
    merge: (state, { attrs }) => state.write(attrs.tag as string),
    bullet_list: (state, node) => state.renderList(node, '  ', () => '- '),
  },
  {
    ...defaultMarkdownSerializer.marks,
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
  try {
    const document = withStrings(parser.parse(hide(text)), (one) => merges.show(one));
    const again = markdownOf(document, hasMerges);
    return markdown.render(hide(again)) === markdown.render(hide(text)) ? document : undefined;
  } catch {
    // The schema does not have this markup.
    return undefined;
  }
}

export function markdownOf(document: Node, hasMerges: boolean): string {
  const merges = new Merges();
  const hidden = withStrings(document, (one) => (hasMerges ? merges.hide(one) : one));
  return merges.show(serializer.serialize(hidden));
}
