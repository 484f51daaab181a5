/** Replaces groups of checkboxes with one field that searches them, and shows the ticked ones as chips. The checkboxes are still sent. */

type Kind = { field: string; object: string; name: string; path: string; isWhole: boolean };
type Picker = Record<'id' | 'label' | 'hint' | 'none' | 'remove' | 'deleted' | 'search', string> & {
  kinds: Kind[];
};
/** `box` is missing for a record that was only found on the server. */
type Option = { kind: Kind; id: string; text: string; box?: HTMLInputElement | undefined };

const MOST_SHOWN = 8;
const SEARCH_MS = 250;
const SHORTEST_SEARCH = 2;

const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

const element = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: object = {},
  ...children: (Node | string)[]
) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

async function pageAt(path: string): Promise<Document | undefined> {
  const answer = await fetch(path);
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), 'text/html') : undefined;
}

function begin(container: HTMLElement): void {
  const picker = JSON.parse(container.dataset.picker!) as Picker;
  const boxes = container.querySelector<HTMLElement>('div')!;
  // The message of an error is next to the checkboxes.
  if (boxes.querySelector('.fault')) return;
  const fieldsetOf = ({ field }: Kind) => document.getElementById(field)!;
  const labelOf = (box: HTMLInputElement) => box.labels![0]!;
  const boxesOf = (kind: Kind): Option[] =>
    [...fieldsetOf(kind).querySelectorAll<HTMLInputElement>('input[type=checkbox]')].map((box) => ({
      ...{ kind, id: box.value, text: labelOf(box).textContent.trim(), box },
    }));
  const all = () => picker.kinds.flatMap(boxesOf);

  const input = element('input', { id: picker.id, type: 'text', role: 'combobox', autocomplete: 'off' });
  const list = element('ul', {
    id: `${picker.id}-list`,
    role: 'listbox',
    ariaLabel: picker.label,
    hidden: true,
    // Otherwise Tab would move the focus from the field to a list that scrolls, which would close it.
    tabIndex: -1,
  });
  const chips = element('ul', { className: 'chips', ariaLabel: picker.label });
  const hint = element('p', { id: `${picker.id}-hint`, className: 'hint' }, picker.hint);
  for (const [name, value] of [
    ['aria-autocomplete', 'list'],
    ['aria-expanded', 'false'],
    ['aria-controls', list.id],
    ['aria-describedby', hint.id],
  ] as const)
    input.setAttribute(name, value);
  const label = element('label', { htmlFor: input.id }, picker.label);
  boxes.hidden = true;
  boxes.before(element('div', { className: 'field picker' }, label, hint, chips, input, list));

  let shown: Option[] = [];
  let found: Option[] = [];
  let active = -1;

  const move = (to: number) => {
    active = to;
    for (const [n, item] of [...list.children].entries()) {
      item.ariaSelected = String(n === active);
      if (n === active) item.scrollIntoView({ block: 'nearest' });
    }
    if (active === -1) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', `${list.id}-${active}`);
  };
  const close = () => {
    list.hidden = true;
    input.ariaExpanded = 'false';
    move(-1);
  };
  const open = () => {
    const typed = folded(input.value.trim());
    const known = all();
    const isKnown = ({ kind, id }: Option) => known.some((one) => one.kind === kind && one.id === id);
    const matching = [...known, ...found.filter((one) => !isKnown(one))].filter(
      ({ text, kind, box }) => !box?.checked && folded(`${text} ${kind.name}`).includes(typed),
    );
    // Before anything is typed, some of each kind.
    const most = typed === '' ? Math.ceil(MOST_SHOWN / picker.kinds.length) : MOST_SHOWN;
    shown = picker.kinds
      .flatMap((kind) => matching.filter((one) => one.kind === kind).slice(0, most))
      .slice(0, MOST_SHOWN);
    const items = shown.map((option, n) => {
      const item = element(
        'li',
        { id: `${list.id}-${n}`, role: 'option', ariaSelected: 'false' },
        option.text,
        ' ',
      );
      item.append(element('span', {}, option.kind.name));
      item.addEventListener('click', () => choose(option));
      return item;
    });
    const nothing = element('li', { className: 'hint' }, picker.none);
    list.replaceChildren(...(items.length > 0 ? items : [nothing]));
    list.hidden = false;
    input.ariaExpanded = 'true';
    move(typed !== '' && shown.length > 0 ? 0 : -1);
  };

  const tick = (box: HTMLInputElement, isTicked: boolean) => {
    box.checked = isTicked;
    for (const event of ['input', 'change']) box.dispatchEvent(new Event(event, { bubbles: true }));
  };
  const choose = ({ kind, id, text, box }: Option) => {
    input.value = '';
    tick(box ?? addBox(kind, id, text), true);
    showChips();
    close();
  };
  const addBox = (kind: Kind, id: string, text: string) => {
    const box = element('input', {
      type: 'checkbox',
      name: kind.field,
      value: id,
      id: `${kind.field}-${id}`,
    });
    const words = element('label', { htmlFor: box.id }, text);
    fieldsetOf(kind).append(element('div', { className: 'choice' }, box, words));
    return box;
  };
  const showChips = () => {
    const ticked = all().filter(({ box }) => box!.checked);
    chips.hidden = ticked.length === 0;
    chips.replaceChildren(
      ...ticked.map(({ kind, text, box }) => {
        const button = element('button', {
          ...{ type: 'button', textContent: '×', ariaLabel: picker.remove.replace('{name}', text) },
        });
        button.addEventListener('click', () => {
          tick(box!, false);
          showChips();
          input.focus();
        });
        return element('li', { className: 'chip' }, `${kind.name}: ${text}`, button);
      }),
    );
  };

  let timer: number | undefined;
  const search = async (q: string) => {
    const kinds = picker.kinds.filter(({ isWhole }) => !isWhole);
    const query = new URLSearchParams([['q', q], ...kinds.map(({ object }) => ['kind', object])]);
    const page = await pageAt(`${picker.search}?${query.toString()}`);
    if (!page || input.value.trim() !== q) return;
    found = [...page.querySelectorAll<HTMLAnchorElement>('main .past a')].flatMap((link) => {
      const path = link.getAttribute('href')!;
      const kind = kinds.find((one) => path.startsWith(`${one.path}/`));
      return kind ? { kind, id: path.slice(kind.path.length + 1), text: link.textContent } : [];
    });
    if (!list.hidden) open();
  };
  const searchSoon = () => {
    clearTimeout(timer);
    const q = input.value.trim();
    if (q.length < SHORTEST_SEARCH || picker.kinds.every(({ isWhole }) => isWhole)) return;
    timer = setTimeout(() => void search(q).catch(() => undefined), SEARCH_MS);
  };

  // The field keeps the focus.
  list.addEventListener('pointerdown', (event) => event.preventDefault());
  input.addEventListener('focus', open);
  input.addEventListener('click', open);
  input.addEventListener('blur', close);
  input.addEventListener('input', (event) => {
    // It is not part of the form.
    event.stopPropagation();
    open();
    searchSoon();
  });
  input.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'Escape') close();
    else if (key === 'Backspace' && input.value === '')
      chips.querySelector<HTMLElement>('li:last-child button')?.click();
    else if (key === 'Enter') {
      // Otherwise the browser would send the form.
      event.preventDefault();
      if (!list.hidden && active !== -1) choose(shown[active]!);
    } else if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault();
      if (list.hidden) open();
      if (shown.length === 0) return;
      const step = key === 'ArrowDown' ? 1 : -1;
      move(active === -1 && step === -1 ? shown.length - 1 : (active + step + shown.length) % shown.length);
    }
  });
  container.closest('form')!.addEventListener('reset', () => setTimeout(showChips));

  // A restored draft can contain records without a checkbox, of which it only knows the ids.
  const typed = new URLSearchParams(container.dataset.typed);
  for (const kind of picker.kinds) {
    const known = new Set(boxesOf(kind).map(({ id }) => id));
    for (const id of typed.getAll(kind.field).filter((one) => !known.has(one))) {
      const box = addBox(kind, id, id);
      box.checked = true;
      void pageAt(`${kind.path}/${id}`)
        .then((page) => {
          labelOf(box).textContent = page?.querySelector('h1')?.textContent ?? picker.deleted;
          showChips();
        })
        .catch(() => undefined);
    }
  }
  showChips();
}

for (const container of document.querySelectorAll<HTMLElement>('[data-picker]')) begin(container);

export {};
