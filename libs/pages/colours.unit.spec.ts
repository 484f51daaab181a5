import { accentsOf, contrastOf, SURFACES } from './colours.js';

const levels = ['00', '33', '66', '99', 'cc', 'ff'];
const colours = levels.flatMap((red) =>
  levels.flatMap((green) => levels.map((blue) => `#${red}${green}${blue}`)),
);

it('turns every colour into an accent that is readable as text and as a background, in both schemes', () => {
  const unreadable = [...colours, '#767676', '#777777', '#0b6e4f'].flatMap((colour) =>
    (['light', 'dark'] as const).flatMap((scheme) => {
      const { accent, onAccent } = accentsOf(colour)[scheme];
      const contrasts = [
        ...SURFACES[scheme].map((surface) => contrastOf(accent, surface)),
        contrastOf(accent, onAccent),
      ];
      return contrasts.some((contrast) => contrast < 4.5) ? [{ colour, scheme, accent, contrasts }] : [];
    }),
  );
  expect(unreadable).toEqual([]);
});

it('keeps a readable colour', () => {
  expect(accentsOf('#0b6e4f').light).toEqual({ accent: '#0b6e4f', onAccent: '#ffffff' });
  expect(accentsOf('#ffff00').dark).toEqual({ accent: '#ffff00', onAccent: '#000000' });
});

it('computes the contrasts that WCAG lists', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrastOf('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});
