import type * as Swagger from '@nestjs/swagger';

type Decorators = (swagger: typeof Swagger) => (ClassDecorator | MethodDecorator)[];
type Target = [target: object, name?: string | symbol, descriptor?: PropertyDescriptor];

const waiting: { decorators: Decorators; target: Target }[] = [];

/**
 * Documents a controller or a method once someone requests the documentation (`documentRoutes`).
 * @nestjs/swagger is a quarter of all code that a process loads, and few processes ever need it.
 */
export function Documented(decorators: Decorators): ClassDecorator & MethodDecorator {
  return (...target: Target) => {
    waiting.push({ decorators, target });
  };
}

/** Call it before writing a document. */
export function documentRoutes(swagger: typeof Swagger): void {
  for (const { decorators, target } of waiting.splice(0)) {
    for (const decorate of decorators(swagger)) (decorate as (...target: Target) => void)(...target);
  }
}
