import java.util.Arrays;
import java.util.List;
import shop.ApiClient;
import shop.ApiException;
import shop.api.AccountsApi;
import shop.api.AuthApi;
import shop.api.ProductsApi;
import shop.model.Error;
import shop.model.LoginBody;
import shop.model.Product;
import shop.model.ProductInput;
import shop.model.ProductPage;
import shop.model.ProductPatch;
import shop.model.SearchProductsResponse;

/** Uses a shop, whose URL is the argument, by the client that OpenAPI Generator makes of its document. */
public class UseShop {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient().setBasePath(arguments[0]);
    String token = new AuthApi(client).login(new LoginBody().email("admin@example.com").password("admin-password")).getAccessToken();
    client.setBearerToken(token);
    ProductsApi products = new ProductsApi(client);

    Product made = products.createProduct(new ProductInput().name("Java tea").price(4.35));
    check("the server fills in the stock", made.getStock(), 0);
    check("retrieved", products.retrieveProduct(made.getId()), made);
    check("changed by PATCH", products.updateProduct(made.getId(), new ProductPatch().stock(7)).getStock(), 7);
    ProductInput replacement = new ProductInput().name("Java coffee").price(12.5).stock(3);
    check("replaced by PUT", products.replaceProduct(made.getId(), replacement).getName(), "Java coffee");

    String rule = "{\"and\":[{\"in\":[\"coffee\",{\"var\":\"name\"}]},{\"!\":{\"<\":[{\"var\":\"price\"},5]}}]}";
    List<String> sort = Arrays.asList("-price", "name");
    ProductPage page = products.listProducts("java", rule, 12.5, 12.5, 3, null, sort, 1, 5);
    check("counted", page.getCount(), 1);
    check("listed", page.getResults().get(0).getName(), "Java coffee");
    check("next page", products.listProducts(null, null, null, null, null, null, Arrays.asList("name"), 2, 10).getPrevious(), true);
    check("an action", products.featuredProducts().getResults().size(), 10);
    SearchProductsResponse found = products.searchProducts("coffee", null, null, null, null, null, null, Arrays.asList("name"), null, null);
    check("an action with a keyword", found.getKeyword(), "coffee");
    check("a role that may be null", new AccountsApi(client).listAccounts(null, null, null, null, null, null, null).getResults().get(0).getRole(), "admin");

    Error wrong = failure(400, () -> products.createProduct(new ProductInput().name("x").price(-1.0)));
    check("the code of a 400", wrong.getCode(), "invalid_usage");
    check("the place of a 400", wrong.getDetails().get(0).getPath(), "/price");
    products.destroyProduct(made.getId());
    check("the code of a 404", failure(404, () -> products.retrieveProduct(made.getId())).getCode(), "not_found");
    check("the code of a 401", failure(401, () -> new ProductsApi(new ApiClient().setBasePath(arguments[0])).destroyProduct(1)).getCode(), "unauthorized");
    System.out.println("used");
  }

  private interface Request {
    void send() throws ApiException;
  }

  private static Error failure(int status, Request request) throws Exception {
    try {
      request.send();
    } catch (ApiException failure) {
      check("status", failure.getCode(), status);
      return Error.fromJson(failure.getResponseBody());
    }
    throw new AssertionError("no " + status);
  }

  private static void check(String what, Object actual, Object expected) {
    if (!actual.equals(expected)) throw new AssertionError(what + ": " + actual + " is not " + expected);
  }
}
