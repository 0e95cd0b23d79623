// What the TypeScript compiler knows of the sources of a folder, as JSON: the symbols that files define, the files
// that imports mean, and the declarations that uses of imported names lead to.
// node typescript_oracle.js COMPILER FOLDER
const path = require("path");
const fs = require("fs");
const ts = require(path.resolve(process.argv[2]));
const root = fs.realpathSync(process.argv[3]);

const files = [];
const visitFolder = (folder) => {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== "node_modules") visitFolder(full);
    else if (/\.(ts|tsx|mts|cts)$/.test(entry.name)) files.push(full);
  }
};
visitFolder(root);
// conditions of the package by which it names its own sources
const own = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
const conditions = new Set();
const visitExports = (part) => {
  if (!part || typeof part !== "object") return;
  for (const [key, value] of Object.entries(part)) {
    if (typeof value === "string" && /\.[mc]?tsx?$/.test(value) && !value.includes(".d.")) conditions.add(key);
    visitExports(value);
  }
};
visitExports(own.exports);
const options = {
  customConditions: [...conditions].filter((key) => !key.startsWith(".")),
  target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, jsx: ts.JsxEmit.Preserve, noEmit: true,
  moduleResolution: ts.ModuleResolutionKind.Bundler, skipLibCheck: true, strict: true, types: [],
  experimentalDecorators: true,
};
const program = ts.createProgram(files, options);
const checker = program.getTypeChecker();
const relative = (name) => path.relative(root, fs.realpathSync(name)).split(path.sep).join("/");
const inside = (name) => name.startsWith(root + path.sep);
const lineOf = (source, node) => source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;

// the name of a declaration as an Id has it; empty where it has none
const memberName = (name) => {
  if (!name) return "";
  if (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) return name.text;
  if (ts.isNumericLiteral(name)) return name.text;
  if (ts.isStringLiteral(name)) return /^[\w$-]+$/.test(name.text) ? name.text : "";
  if (ts.isComputedPropertyName(name) && name.expression.getText().startsWith("Symbol."))
    return `[${name.expression.getText().slice("Symbol.".length)}]`;
  return "";
};
const bindingNames = (name) =>
  ts.isIdentifier(name) ? [name.text]
    : name.elements.flatMap((e) => (ts.isOmittedExpression(e) ? [] : bindingNames(e.name)));

const declared = (node) => {
  const isDefault = (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Default) !== 0;
  if (ts.isFunctionDeclaration(node)) return [["function", node.name ? node.name.text : isDefault ? "default" : ""]];
  if (ts.isClassDeclaration(node)) return [["type", node.name ? node.name.text : "default"]];
  if (ts.isInterfaceDeclaration(node)) return [["interface", node.name.text]];
  if (ts.isTypeAliasDeclaration(node) || ts.isEnumDeclaration(node)) return [["type", node.name.text]];
  if (ts.isVariableStatement(node))
    return node.declarationList.declarations.flatMap((d) => {
      const value = d.initializer;
      const isFunction = value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) && ts.isIdentifier(d.name);
      const isClass = value && ts.isClassExpression(value) && ts.isIdentifier(d.name);
      return bindingNames(d.name).map((n) => [isClass ? "type" : isFunction ? "function" : "field", n]);
    });
  if (ts.isExportAssignment(node) && !node.isExportEquals && !ts.isIdentifier(node.expression)) {
    const value = node.expression;
    const isFunction = ts.isArrowFunction(value) || ts.isFunctionExpression(value);
    return [[isFunction ? "function" : "field", "default"]];
  }
  return [];
};
const members = (node, owner, out) => {
  for (const member of node.members || []) {
    const name = memberName(member.name);
    if (ts.isConstructorDeclaration(member)) {
      out.push(`method:${owner}.constructor`);
      for (const p of member.parameters)
        if (ts.isParameterPropertyDeclaration(p, member)) out.push(`field:${owner}.${p.name.getText()}`);
    } else if (!name) continue;
    else if (ts.isMethodDeclaration(member) || ts.isMethodSignature(member)) out.push(`method:${owner}.${name}`);
    else if (ts.isGetAccessor(member) || ts.isSetAccessor(member)) out.push(`property:${owner}.${name}`);
    else if (ts.isPropertyDeclaration(member)) {
      const value = member.initializer;
      const isFunction = value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value));
      out.push(`${isFunction ? "method" : "field"}:${owner}.${name}`);
    } else if (ts.isPropertySignature(member) || ts.isEnumMember(member)) out.push(`field:${owner}.${name}`);
  }
};
const statements = (list, prefix, out) => {
  for (const node of list) {
    for (const [kind, name] of declared(node)) {
      if (!name) continue;
      const dotted = prefix + name;
      out.push(`${kind}:${dotted}`);
      if (ts.isVariableStatement(node)) {
        for (const d of node.declarationList.declarations)
          if (d.initializer && ts.isClassExpression(d.initializer) && d.name.text === name) members(d.initializer, dotted, out);
      } else if (ts.isTypeAliasDeclaration(node)) {
        const parts = ts.isIntersectionTypeNode(node.type) ? node.type.types : [node.type];
        for (const part of parts) if (ts.isTypeLiteralNode(part)) members(part, dotted, out);
      } else members(node, dotted, out);
    }
    if (ts.isModuleDeclaration(node) && !ts.isStringLiteral(node.name)) {
      let inner = node, name = "";
      if (node.flags & ts.NodeFlags.GlobalAugmentation) { statements(node.body.statements, prefix, out); continue; }
      for (;;) {
        name = name ? `${name}.${inner.name.text}` : inner.name.text;
        out.push(`namespace:${prefix}${name}`);
        if (inner.body && ts.isModuleDeclaration(inner.body)) inner = inner.body; else break;
      }
      if (inner.body) statements(inner.body.statements, `${prefix}${name}.`, out);
    }
  }
};

const nameOfDeclaration = (declaration) => {
  const parts = [];
  for (let node = declaration; node && !ts.isSourceFile(node); node = node.parent) {
    if (ts.isBindingElement(node) && parts.length) continue;
    if (ts.isExportAssignment(node)) parts.unshift("default");
    else if (node.name && (ts.isIdentifier(node.name) || ts.isStringLiteral(node.name))) parts.unshift(node.name.text);
    else if ((ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) && !node.name) parts.unshift("default");
  }
  return parts.join(".");
};
const target = (symbol) => {
  if (!symbol) return null;
  if (symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const found = [];
  if ((symbol.declarations || []).some(ts.isSourceFile)) return null; // a module, not a name in one
  for (const d of symbol.declarations || []) {
    const file = d.getSourceFile().fileName;
    if (!inside(fs.realpathSync(file))) return null;
    if (!ts.isSourceFile(d)) found.push(`${relative(file)}#${nameOfDeclaration(d)}`);
  }
  return found.length ? [...new Set(found)] : null;
};

const result = {};
for (const source of program.getSourceFiles()) {
  if (!inside(fs.realpathSync(source.fileName)) || /node_modules/.test(relative(source.fileName))) continue;
  const symbols = [], imports = [], references = [];
  let isWhole = true; // false where an import of the package itself leads to what only a build makes
  statements(source.statements, "", symbols);
  const visit = (node) => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      const specifier = node.moduleSpecifier.text;
      const mode = undefined;
      const resolved = ts.resolveModuleName(specifier, source.fileName, options, ts.sys, undefined, undefined, mode).resolvedModule;
      const file = resolved && inside(fs.realpathSync(resolved.resolvedFileName)) ? relative(resolved.resolvedFileName) : null;
      // what the compiler does not find, such as what a build makes, is not known to be outside
      if (!resolved && (specifier === own.name || specifier.startsWith(`${own.name}/`))) isWhole = false;
      if (resolved || specifier.startsWith(".")) imports.push([lineOf(source, node), specifier, file]);
      return;
    }
    if (ts.isIdentifier(node) && node.parent.name !== node && !ts.isImportSpecifier(node.parent)) {
      const symbol = ts.isShorthandPropertyAssignment(node.parent)
        ? checker.getShorthandAssignmentValueSymbol(node.parent) : checker.getSymbolAtLocation(node);
      if (symbol && symbol.flags & ts.SymbolFlags.Alias && !ts.isExportSpecifier(node.parent)) {
        const declaration = (symbol.declarations || [])[0];
        if (declaration && /Import|Namespace/.test(ts.SyntaxKind[declaration.kind])) {
          const to = target(symbol);
          if (to) references.push([lineOf(source, node), node.text, to]);
        }
      }
    } else if (ts.isExportSpecifier(node)) {
      const symbol = checker.getExportSpecifierLocalTargetSymbol(node);
      if (symbol && symbol.flags & ts.SymbolFlags.Alias) {
        const to = target(symbol);
        if (to) references.push([lineOf(source, node), (node.propertyName || node.name).text, to]);
      }
    }
    // `ns.name`, where `ns` is an imported module
    if (ts.isPropertyAccessExpression(node) || ts.isQualifiedName(node)) {
      const left = ts.isQualifiedName(node) ? node.left : node.expression;
      const right = ts.isQualifiedName(node) ? node.right : node.name;
      const symbol = checker.getSymbolAtLocation(left);
      if (symbol && symbol.flags & ts.SymbolFlags.Alias) {
        const aliased = checker.getAliasedSymbol(symbol);
        if (aliased.flags & ts.SymbolFlags.ValueModule && (aliased.declarations || []).some(ts.isSourceFile)) {
          const to = target(checker.getSymbolAtLocation(right));
          if (to) references.push([lineOf(source, right), right.text, to]);
        }
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  result[relative(source.fileName)] = { symbols: [...new Set(symbols)], imports, references, isWhole };
}
process.stdout.write(JSON.stringify(result));
